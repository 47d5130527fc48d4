/** The audit trail, played through: what it tells must be possible, and must end in what is held now. */
import { expect } from "vitest";
import type { AuditEntry, Holdfast } from "../../dist/index.js";

const BEGINS = new Set(["granted", "resumed"]);
const ENDS = new Set(["released", "stolen", "recovered", "broken"]);

/**
 * Chains are whole; in each, fencing tokens grow from one request to the next; every grant begins once and ends at most
 * once; what has not ended is what the store lists. Keys that are only locked for writing never have two grants at once.
 */
export async function expectSoundHistory(holdfast: Holdfast, { onlyWriters = true } = {}): Promise<void> {
  expect(await holdfast.audit.verify()).toMatchObject({ ok: true, bad: [] });
  const live = new Map<string, AuditEntry>();
  const chains = new Map<string, TokenOrder>();
  for (const entry of await holdfast.audit.list({ limit: 50_000 })) {
    const id = entry.lock_id ?? "";
    if (entry.event === "resumed") live.delete(String(entry.details.old_lock_id));
    if (BEGINS.has(entry.event)) {
      const tree = entry.resource.split("/", 1)[0] ?? "";
      const order = chains.get(tree) ?? new TokenOrder();
      chains.set(tree, order);
      order.add(entry);
      if (onlyWriters) expect([...live.values()].filter((other) => other.resource === entry.resource)).toEqual([]);
      live.set(id, entry);
    }
    if (ENDS.has(entry.event)) {
      expect(live.has(id), `it ends a grant that is not there: ${JSON.stringify(entry)}`).toBe(true);
      live.delete(id);
    }
  }
  const listed = await holdfast.list({ limit: 50_000 });
  expect(listed.map((grant) => grant.lock_id).sort()).toEqual([...live.keys()].sort());
}

/** A request for several keys is recorded in the order it asked for them, and mints in the order of nodes. */
class TokenOrder {
  #request = "";
  #before = 0;
  #highest = 0;

  add({ at, holder_id, fencing_token }: AuditEntry): void {
    const request = `${at} ${holder_id}`;
    if (request !== this.#request) this.#before = this.#highest;
    this.#request = request;
    expect(fencing_token).toBeGreaterThan(this.#before);
    this.#highest = Math.max(this.#highest, fencing_token ?? 0);
  }
}
