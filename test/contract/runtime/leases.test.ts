/** RUN-2: single-run windows by name, each step by a client of its own, as commands and connections come and go. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createRuntimeLeases, type RuntimeLeases } from "../../../src/features/runtime/named-leases.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { openWorkplace, pass } from "../../fixtures/client/instance.fixture.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const dir = mkdtempSync(join(tmpdir(), "holdfast-leases-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let onPostgres: Promise<string> | undefined;

async function urlOf(kind: string): Promise<string> {
  if (kind !== "postgres") return `${kind}:${join(dir, kind)}`;
  onPostgres ??= sharedServer().then(newPostgresStore);
  return onPostgres;
}

describe.each(["sqlite", "file", "postgres"])("RUN-2: runtime leases (%s)", { timeout: 120_000 }, (kind) => {
  /** One call, one client. */
  async function step<T>(work: (leases: RuntimeLeases, holdfast: Holdfast) => Promise<T>): Promise<T> {
    const holdfast = await openHoldfast({ store: await urlOf(kind), heart: "loop" });
    try {
      return await work(createRuntimeLeases(holdfast), holdfast);
    } finally {
      await holdfast.close();
    }
  }

  it("T1 to T6: held by one, taken again by the same, released by its token only, then free for others", async () => {
    const first = await step((leases) => leases.acquire("gates", "A", "10m"));
    expect(first?.token).toMatch(/^hf_/);
    expect(await step((leases) => leases.acquire("gates", "B", "10m"))).toBeNull();
    const second = await step((leases) => leases.acquire("gates", "A", "5m"));
    expect(second?.token).not.toBe(first?.token);
    expect(second?.grant.fencing_token).toBeGreaterThan(first?.grant.fencing_token ?? 0);
    expect(second?.grant.lease_duration_s).toBe(300);
    const [old, current] = [first?.token ?? "", second?.token ?? ""];
    expect(await step((leases) => leases.renew("gates", "A", old))).toBeNull();
    expect(await step((leases) => leases.release("gates", "A", old))).toBe(false);
    expect(await step((leases) => leases.release("gates", "B", current))).toBe(false);
    expect(await step((leases) => leases.status("gates"))).toMatchObject({ state: "held", holder: "A" });
    expect(await step((leases) => leases.renew("gates", "A", current))).toMatchObject({ lease_duration_s: 300 });
    expect(await step((leases) => leases.release("gates", "A", current))).toBe(true);
    expect(await step((leases) => leases.release("gates", "A", current))).toBe(false);
    expect(await step((leases) => leases.acquire("gates", "B", "10m"))).not.toBeNull();
  });

  it("T7: an expired lease is there for anybody, and a lease is the lock runtime:NAME", async () => {
    const lease = await step((leases) => leases.acquire("short", "A", "1s"));
    await vi.waitUntil(() => step(async (leases) => (await leases.status("short")).state === "expired"), 60_000);
    expect(await step((leases) => leases.renew("short", "A", lease?.token ?? ""))).toBeNull();
    expect(await step((leases) => leases.acquire("short", "B", "10m"))).not.toBeNull();
    const refusal = await step((_, holdfast) => holdfast.acquire("runtime:short", { wait: 0 }).catch((error) => error));
    expect(refusal.code).toBe("E_LOCK_CONFLICT");
  });

  it("two of one name that race: each gets a token, and only one of the tokens goes on", async () => {
    const won = await Promise.all(
      Array.from({ length: 6 }, () => step((leases) => leases.acquire("race", "A", "10m"))),
    );
    const renewed = await Promise.all(
      won.map((lease) => step((leases) => leases.renew("race", "A", lease?.token ?? "none"))),
    );
    expect(renewed.filter((grant) => grant !== null)).toHaveLength(1);
  });

  // kills: named-lease-of-a-stranger
  it("LOCK-10: a plain lock of an owner who is called like the holder is not taken over", async () => {
    const store = await urlOf(kind);
    await using holdfast = await openHoldfast({ store, owner: "user:A", heart: "loop" });
    const plain = await holdfast.acquire("runtime:plain");
    expect(await step((leases) => leases.acquire("plain", "user:A"))).toBeNull();
    await plain.verify();
  });

  it("needs a holder and a name", async () => {
    const fields = await step((leases) =>
      Promise.all([
        leases.acquire("gates", " ").catch((error) => error.details.field),
        leases.acquire("a/b", "A").catch((error) => error.details.field),
        leases.acquire("gates", "A", "1ms").catch((error) => error.details.field),
      ]),
    );
    expect(fields).toEqual(["holder", "name", "ttl"]);
  });
});

describe("RUN-2: a workplace that took a lease by name", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("LIB-1: tells no loss of it, whether it was released, renewed or left", async () => {
    const told: unknown[] = [];
    const hear = (message: unknown): void => void told.push(message);
    subscribe("holdfast:lost", hear);
    onTestFinished(() => void unsubscribe("holdfast:lost", hear));
    const { holdfast } = openWorkplace();
    const leases = createRuntimeLeases(holdfast);
    const [released, renewed] = [await leases.acquire("a", "A", "1s"), await leases.acquire("b", "A", "1s")];
    await leases.acquire("c", "A", "1s");
    expect(await leases.release("a", "A", released?.token ?? "")).toBe(true);
    expect(await leases.renew("b", "A", renewed?.token ?? "", "1h")).not.toBeNull();
    await pass(5_000);
    expect(told).toEqual([]);
    expect(await leases.status("b")).toMatchObject({ state: "held", holder: "A" });
  });
});
