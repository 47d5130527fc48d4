import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openWorkplace, pass, type Workplace } from "../../fixtures/client/instance.fixture.js";
import { key } from "../../fixtures/lock/samples.fixture.js";
import { acquireRequest } from "../../fixtures/store/acquire-request.fixture.js";

const party = { owner: "agent:thief", holderId: "host:thief:1:1", nonce: "thief", proof: { kind: "none" } } as const;

let place: Workplace;

beforeEach(() => {
  vi.useFakeTimers();
  place = openWorkplace();
});
afterEach(() => vi.useRealTimers());

/** A grant as somebody names it who read its id off a status page. */
async function seen(mode: "write" | "upgradeable") {
  const lease = await place.holdfast.acquire("k", { mode, ttl: "10s", detached: true });
  const [record] = await place.other.list();
  return { lease, ref: { resource: key("k"), lockId: record?.lock_id ?? "", tokenHash: "a guess" } };
}

describe("whoever knows a grant's id but not its lease token", () => {
  it("LOCK-7, LOCK-8, LOCK-9, FENCE-2: can neither renew, convert, release nor commit", async () => {
    for (const mode of ["write", "upgradeable"] as const) {
      const { lease, ref } = await seen(mode);
      const before = await place.other.list();
      const waiting = { waitMs: 0, ticketId: null };
      for (const attempt of [
        place.locks.renew([ref], 60_000),
        place.locks.release([ref], party),
        place.locks.downgrade([ref], party),
        place.locks.upgrade({ grant: ref, party, presented: [ref], ...waiting }),
      ])
        await expect(attempt).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
      const commit = place.fence.commit([ref], () => expect.unreachable("it wrote"));
      await expect(commit).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
      expect(await place.other.list()).toEqual(before);
      await lease.verify();
      await lease.release();
    }
  });

  it("LOCK-7: cannot resume it when it has lapsed", async () => {
    const { lease, ref } = await seen("write");
    await pass(10_000);
    await expect(place.locks.resume([ref], "another", party)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    await lease.resume();
  });

  it("LOCK-10: cannot nest in it by presenting the guess", async () => {
    const { ref } = await seen("write");
    const wants = [{ resource: key("k/x"), mode: "read", permits: null }] as const;
    const request = acquireRequest("k/x", { wants, party, leaseMs: 1_000, detached: true, presented: [ref] });
    await expect(place.locks.acquire(request)).rejects.toMatchObject({ code: "E_LOCK_ORDER" });
    expect(await place.locks.acquire({ ...request, presented: [] })).toMatchObject({ kind: "conflict" });
  });
});
