import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openWorkplace, pass, type Workplace } from "../../fixtures/client/instance.fixture.js";
import { key } from "../../fixtures/lock/samples.fixture.js";
import { acquireRequest } from "../../fixtures/store/acquire-request.fixture.js";

let place: Workplace;

beforeEach(() => {
  vi.useFakeTimers();
  place = openWorkplace();
});
afterEach(() => vi.useRealTimers());

describe("inspect", () => {
  it("LOCK-12: shows who stands in line, and not who has lost the place", async () => {
    await place.holdfast.acquire("k", { ttl: "1h", metadata: { why: "test" } });
    const party = { owner: "agent:gone", holderId: "host:gone:1:1", nonce: "gone", proof: { kind: "none" } } as const;
    const wants = [{ resource: key("k"), mode: "read", permits: null }] as const;
    await place.locks.acquire(acquireRequest("k", { wants, party, leaseMs: 1_000, detached: true, waitMs: 60_000 }));
    expect((await place.other.inspect("k")).waiters).toEqual([
      {
        ticket_id: expect.any(String),
        number: expect.any(Number),
        owner: "agent:gone",
        holder_id: "host:gone:1:1",
        wants: [{ resource: "k", mode: "read" }],
        waiting_since: new Date().toISOString(),
      },
    ]);
    await pass(2_000);
    expect((await place.other.inspect("k")).waiters).toEqual([]);
  });

  it("LOCK-5: tells an expired grant from a held one", async () => {
    await place.holdfast.acquire("k", { ttl: "2s", detached: true });
    expect((await place.other.inspect("k")).state).toBe("held");
    await pass(2_000);
    expect(await place.other.inspect("k")).toMatchObject({ state: "expired", grants: [{ resource: "k" }] });
  });

  it("LOCK-16: a permit whose lease is over is none that is taken", async () => {
    await place.holdfast.acquire("pool", { permits: 2, ttl: "2s", detached: true });
    await place.holdfast.acquire("pool", { permits: 2, ttl: "1h", detached: true });
    expect((await place.other.inspect("pool")).permits).toEqual({ total: 2, taken: 2 });
    await pass(2_000);
    expect((await place.other.inspect("pool")).permits).toEqual({ total: 2, taken: 1 });
  });
});
