import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Waits } from "../../../src/index.js";
import type { Mode } from "../../../src/lock/mode.js";
import { openWorkplace, pass, type Workplace } from "../../fixtures/client/instance.fixture.js";
import { want } from "../../fixtures/lock/samples.fixture.js";
import { acquireRequest } from "../../fixtures/store/acquire-request.fixture.js";

let place: Workplace;

beforeEach(() => {
  vi.useFakeTimers();
  place = openWorkplace();
});
afterEach(() => vi.useRealTimers());

/** Somebody who stands in line until he is not heard of for two seconds. */
async function queue(name: string, keys: string | readonly string[], mode: Mode = "write"): Promise<void> {
  const party = { owner: `agent:${name}`, holderId: "host:x:1:1", nonce: name, proof: { kind: "none" } } as const;
  const wants = [keys].flat().map((key) => want(key, mode));
  const answer = await place.locks.acquire(acquireRequest(keys, { wants, party, tokenHash: name, waitMs: 60_000 }));
  expect(answer.kind).toBe("queued");
}

const inShort = ({ waiters }: Waits) =>
  waiters.map(
    ({ owner, position, waits_for }) =>
      `${owner.slice("agent:".length)} ${position}: ${waits_for.map(({ kind, resource }) => `${kind} ${resource}`).join(", ")}`,
  );

const hold = (...keys: string[]) => place.holdfast.acquire(keys, { ttl: "1h", detached: true });

describe("waits", () => {
  it("LOCK-13: tells the place in the line of the first tree, and whom one waits for in all of them", async () => {
    await hold("a", "b/x", "c");
    await queue("one", "b");
    await queue("two", ["a", "b/x"]);
    await queue("three", "b/x", "read");
    await queue("four", "a");
    const told = await place.other.waits();
    expect(inShort(told)).toEqual([
      "two 1: holder a, holder b/x, waiter b",
      "four 2: holder a, waiter a b/x",
      "one 1: holder b/x",
      "three 3: holder b/x, waiter b, waiter a b/x",
    ]);
    expect(told.holders.map(({ resource, state }) => `${resource} ${state}`)).toEqual(["a held", "b/x held"]);
    expect(inShort(await place.other.waits({ limit: 2 }))).toEqual([
      "two 1: holder a, holder b/x",
      "four 2: holder a, waiter a b/x",
    ]);
  });

  it("LOCK-5: tells a holder whose lease is over from one who holds", async () => {
    await place.holdfast.acquire("k", { ttl: "1s", detached: true, mode: "read" });
    await place.holdfast.acquire("k/other", { ttl: "1h", detached: true, mode: "read" });
    await queue("one", "k");
    await pass(1_500);
    expect((await place.other.waits()).holders.map(({ resource, state }) => `${resource} ${state}`)).toEqual([
      "k expired",
      "k/other held",
    ]);
  });

  // kills: waits-of-the-gone, waits-hidden-by-the-gone
  it("LOCK-12: leaves out who has lost the place, who then takes nobody's room in the answer", async () => {
    await hold("a", "b", "c");
    for (const name of ["one", "two", "three"]) await queue(name, "a");
    await pass(2_000);
    await queue("four", "b");
    await queue("five", "c");
    expect(inShort(await place.other.waits({ limit: 1 }))).toEqual(["four 1: holder b"]);
    expect(inShort(await place.other.waits())).toEqual(["four 1: holder b", "five 1: holder c"]);
    expect((await place.other.waits()).holders.map(({ resource }) => resource)).toEqual(["b", "c"]);
  });

  it("LOCK-8: whoever upgrades waits for the other readers, not for itself", async () => {
    const lease = await place.holdfast.acquire("k", { mode: "upgradeable", ttl: "1h" });
    await place.other.acquire("k", { mode: "read", ttl: "1h" });
    const upgrading = lease.upgrade({ wait: "1s" }).catch(() => undefined);
    await pass(100);
    const { holders, waiters } = await place.other.waits();
    expect(holders.map(({ mode }) => mode)).toEqual(["read"]);
    expect(waiters).toMatchObject([{ position: 1, waits_for: [{ kind: "holder" }] }]);
    await pass(1_000);
    await upgrading;
  });

  it("LOCK-13: looks at each wanted key once, at none below another, and at a busy tree as a whole", async () => {
    await hold("a", "b", "c");
    for (const key of ["a/x", "a/x/y", "a/x", "b/x", "b"]) await queue(key.replaceAll("/", "-"), key);
    for (let at = 0; at < 100; at += 1) await queue(`c-${at}`, `c/${at}`);
    const inspect = vi.spyOn(place.reader, "inspect");
    expect((await place.other.waits()).holders.map(({ resource }) => resource)).toEqual(["a", "b", "c"]);
    expect(inspect.mock.calls.map(([key]) => key)).toEqual(["a/x", "b", "c"]);
  });

  it("LOCK-13: where each look takes long, one at the whole store is made instead of many", async () => {
    const keys = Array.from({ length: 60 }, (_, at) => `tree-${at}`);
    await hold(...keys.map((key) => `${key}/x`));
    for (const key of keys) await queue(key, key);
    const { reader } = place;
    const quick = await place.other.waits();
    const inspect = reader.inspect;
    const slow = vi.spyOn(reader, "inspect").mockImplementation(async (key) => {
      await vi.advanceTimersByTimeAsync(10);
      return inspect(key);
    });
    const listing = vi.spyOn(reader, "list");
    expect(await place.other.waits()).toEqual(quick);
    expect([slow.mock.calls.length, listing.mock.calls.length]).toEqual([10, 1]);
    slow.mockClear();
    expect(await place.other.inLine(100)).toHaveLength(60);
    expect(slow).not.toHaveBeenCalled();
  });

  it("LOCK-13: in a long line names those just ahead, so that the answer grows with the line and no faster", async () => {
    await hold("k");
    for (let at = 0; at < 500; at += 1) await queue(String(at), "k");
    const { waiters } = await place.other.waits();
    expect(waiters).toHaveLength(500);
    const last = waiters[499];
    expect([last?.position, last?.waits_for.length]).toEqual([500, 1 + 8]);
    expect(last?.waits_for.map(({ owner }) => owner).slice(1)).toEqual(
      Array.from({ length: 8 }, (_, at) => `agent:${491 + at}`),
    );
  });

  it("names a circle, the longest wait first, and the waiter whose own process holds the key", async () => {
    for (const [name, key] of [
      ["one", "a"],
      ["two", "b"],
      ["self", "c"],
    ] as const) {
      const party = { owner: `agent:${name}`, holderId: "host:x:1:1", nonce: name, proof: { kind: "none" } } as const;
      await place.locks.acquire(acquireRequest(key, { party, tokenHash: `held ${name}`, leaseMs: 3_600_000 }));
    }
    await pass(10);
    await queue("two", "a");
    await pass(10);
    await queue("one", "b");
    await queue("self", "c");
    const { circles = [] } = await place.other.waits();
    const inWords = circles.map((circle) =>
      circle.map(({ owner, holds, waits_for }) => `${owner} ${holds.resource} ${waits_for}`),
    );
    expect(inWords).toEqual([["agent:two b a", "agent:one a b"], ["agent:self c c"]]);
    const explained = await place.other.explain("a");
    expect(explained.circles).toEqual([circles[0]]);
    expect((await place.other.explain("c")).line[0]?.waits_for).toMatchObject([{ kind: "holder", own: "instance" }]);
  });
});
