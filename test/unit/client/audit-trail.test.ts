import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../../src/base/errors.js";
import { createAuditTrail } from "../../../src/client/reading/audit-trail.js";
import { openHoldfast } from "../../../src/features/configuration.js";
import type { AuditEntry } from "../../../src/lock/audit.js";
import type { Key } from "../../../src/lock/key.js";
import type { AuditPage, Store } from "../../../src/store/contract.js";

/** Chains with an entry a second each, which begin at different times, and how many entries were read of them. */
function trailOf(chains: number, length: number) {
  let [read, pages, heads] = [0, 0, 0];
  const startOf = (tree: string) => Number(tree.slice("tree-".length)) * 300;
  const entryAt = (tree: string, seq: number) =>
    ({
      seq,
      at: new Date((startOf(tree) + seq) * 1_000).toISOString(),
      resource: tree,
      owner: "agent:a",
    }) as AuditEntry;
  const reader = {
    async auditHeads() {
      heads += 1;
      return new Map(Array.from({ length: chains }, (_, at) => [`tree-${at}` as Key, length]));
    },
    async audit({ tree, afterSeq, limit }: AuditPage) {
      const count = Math.min(limit, length - afterSeq);
      read += count;
      pages += 1;
      return Array.from({ length: count }, (_, at) => entryAt(tree, afterSeq + 1 + at));
    },
  };
  return {
    trail: createAuditTrail({ reader } as unknown as Store),
    read: () => read,
    pages: () => pages,
    heads: () => heads,
  };
}

describe("the audit trail", () => {
  // kills: follow-all
  it("AUDIT-4: following looks only into chains that have gone on", async () => {
    const { trail, pages, heads } = trailOf(50, 10);
    const stop = new AbortController();
    const coming: AuditEntry[] = [];
    const following = trail.follow({ signal: stop.signal });
    const reading = (async () => {
      for await (const entry of following) coming.push(entry);
    })();
    while (heads() < 3) await sleep(5);
    stop.abort();
    await reading;
    expect([coming, pages()]).toEqual([[], 0]);
  });

  it("AUDIT-4: following that cannot begin fails when it is read, and ends nothing when it is not", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    const away = new HoldfastError("E_STORE_UNAVAILABLE", "the line is cut", { reason: "unreachable" });
    const trail = createAuditTrail({ reader: { auditHeads: () => Promise.reject(away) } } as unknown as Store);
    const following = trail.follow();
    await sleep(20);
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
    await expect(following[Symbol.asyncIterator]().next()).rejects.toBe(away);
  });

  it.each([{}, null, "now"])("AUDIT-4 LOCK-12: following until nonsense (%j) is refused", async (nonsense) => {
    const { trail } = trailOf(1, 1);
    const signal = nonsense as unknown as AbortSignal;
    const refusal = { code: "E_INVALID_ARGUMENT", details: { field: "signal" } };
    expect(() => trail.follow({ signal })).toThrow(expect.objectContaining(refusal));
    await using holdfast = await openHoldfast({ store: "memory:nonsense", heart: "loop" });
    await expect(holdfast.watch("k", { signal })[Symbol.asyncIterator]().next()).rejects.toMatchObject(refusal);
  });

  it("AUDIT-4: the first entries of all chains are found without reading the chains to their ends", async () => {
    const { trail, read } = trailOf(5, 20_000);
    const entries = await trail.list({ limit: 700 });
    const times = entries.map(({ at }) => Date.parse(at) / 1_000);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    // tree-0 has 300 seconds alone, then tree-1 comes in.
    expect(entries.filter(({ resource }) => resource === "tree-0")).toHaveLength(500);
    expect(entries.filter(({ resource }) => resource === "tree-1")).toHaveLength(200);
    expect(read()).toBe(5 * 1_000);
  });

  it("AUDIT-4: the last entries of many chains are found without reading so many of each", async () => {
    const { trail, read } = trailOf(20, 20_000);
    const entries = await trail.recent({ limit: 5_000 });
    expect(entries).toHaveLength(5_000);
    const times = entries.map(({ at }) => at);
    expect(times).toEqual([...times].sort());
    // The last of 20 chains ends 5,700 seconds after the first.
    expect(new Set(entries.map(({ resource }) => resource)).size).toBe(6);
    expect(read()).toBeLessThan(25_000);
  });

  it("AUDIT-4: a long search lets the rest of the process go on", async () => {
    const { trail } = trailOf(20, 20_000);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    await trail.recent({ text: "nowhere" });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });

  it("AUDIT-4: the last entries are those with the latest times, oldest first", async () => {
    const { trail } = trailOf(3, 2_000);
    const entries = await trail.recent({ limit: 400 });
    expect(entries).toHaveLength(400);
    expect(entries.at(-1)).toMatchObject({ resource: "tree-2", seq: 2_000 });
    expect(new Set(entries.map(({ resource }) => resource))).toEqual(new Set(["tree-1", "tree-2"]));
  });

  it("AUDIT-4: the last entries since a time are found without reading what is older", async () => {
    const { trail, read } = trailOf(3, 20_000);
    const entries = await trail.recent({ limit: 5_000, since: new Date((600 + 19_000) * 1_000) });
    expect(entries.filter(({ resource }) => resource === "tree-2")).toHaveLength(1_001);
    expect(entries.filter(({ resource }) => resource === "tree-0")).toHaveLength(401);
    expect(read()).toBeLessThanOrEqual(3 * 2_000);
  });

  it("AUDIT-4: text is looked for anywhere in an entry, in large letters or small", async () => {
    const { trail } = trailOf(3, 10);
    expect(await trail.list({ text: "TREE-1" })).toHaveLength(10);
    expect(await trail.recent({ text: "agent:A", limit: 5 })).toHaveLength(5);
    expect(await trail.list({ text: "nowhere" })).toEqual([]);
    await expect(trail.list({ text: "" })).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });
});
