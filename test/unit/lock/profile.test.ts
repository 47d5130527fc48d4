import { describe, expect, it } from "vitest";
import type { Grant, Profile } from "../../../src/lock/grant.js";
import {
  isExpired,
  isForeign,
  type Life,
  patiently,
  recoverable,
  TICKET_LEASE_MS,
  ticketStands,
  type Witness,
} from "../../../src/lock/profile.js";
import { grant, moment, ticket, want, witness } from "../../fixtures/lock/samples.fixture.js";

/** A lease of one second; judged before and after its end, and after a grace of two. */
const MOMENTS = { live: 999, expired: 1_000, graceOver: 2_000 } as const;
const LIVES: readonly Life[] = ["alive", "unknown", "dead"];

function reasons(profile: Profile, change: Partial<Grant> = {}): Record<string, (string | null)[]> {
  const held = grant("k", "write", { profile, leaseMs: 1_000, graceMs: 2_000, ...change });
  const judge = (ms: number) => LIVES.map((life) => recoverable(held, moment(ms), witness(life))?.reason ?? null);
  return Object.fromEntries(Object.entries(MOMENTS).map(([name, ms]) => [name, judge(ms)]));
}

describe("when a grant may be ended without its holder", () => {
  it("STALE-1: default: expired, or proven dead", () => {
    expect(reasons("default")).toEqual({
      live: [null, null, "process_dead"],
      expired: ["lease_expired", "lease_expired", "process_dead"],
      graceOver: ["lease_expired", "lease_expired", "process_dead"],
    });
  });

  it("STALE-1: lease: expired, whatever became of the process", () => {
    const expired = ["lease_expired", "lease_expired", "lease_expired"];
    expect(reasons("lease")).toEqual({ live: [null, null, null], expired, graceOver: expired });
  });

  it("STALE-1: dal: expired, and no heartbeat for the grace period, and no active job of the owner", () => {
    const never = [null, null, null];
    expect(reasons("dal")).toEqual({
      live: never,
      expired: never,
      graceOver: ["lease_expired", "lease_expired", "lease_expired"],
    });
    const held = grant("k", "write", { profile: "dal", leaseMs: 1_000, graceMs: 1_000 });
    expect(recoverable(held, moment(1_000), witness("dead", false))?.reason).toBe("lease_expired");
    expect(recoverable(held, moment(99_000), witness("dead", true))).toBe(null);
  });

  it("STALE-1: strict: proven dead, never by time", () => {
    const onlyDead = [null, null, "process_dead"];
    expect(reasons("strict")).toEqual({ live: onlyDead, expired: onlyDead, graceOver: onlyDead });
    const old = grant("k", "write", { profile: "strict", leaseMs: 1_000 });
    for (const life of ["alive", "unknown"] as const) expect(recoverable(old, moment(1e12), witness(life))).toBe(null);
  });

  it.each(["default", "lease", "dal", "strict"] as const)(
    "STALE-1: under %s a run's grant also needs its last process gone",
    (profile) => {
      const proof = { kind: "file", file: "1:2:3", inherited: true } as const;
      const [plain, run] = [reasons(profile), reasons(profile, { proof })];
      for (const name of Object.keys(MOMENTS)) {
        const [, ...notAlive] = plain[name] ?? [];
        expect(run[name]).toEqual([null, ...notAlive]);
      }
    },
  );

  it("STALE-2: a grant from before a restart is dead by its proof, and a detached one is over by the wall clock", () => {
    const afterRestart = moment(5, { bootId: "next boot", wallMs: moment(0).wallMs + 10 });
    const bound = grant("k", "write", { profile: "strict" });
    expect(recoverable(bound, afterRestart, witness("dead"))?.reason).toBe("process_dead");
    expect(recoverable(bound, afterRestart, witness("unknown"))).toBe(null);
    const detached = grant("k", "write", { detached: true, proof: { kind: "none" }, leaseMs: 1_000 });
    expect(recoverable(detached, afterRestart, witness("unknown"))).toBe(null);
    const muchLater = moment(5, { bootId: "next boot", wallMs: moment(0).wallMs + 10_000 });
    expect(recoverable(detached, muchLater, witness("unknown"))?.reason).toBe("lease_expired");
  });

  // kills: other-clock-and-alive
  it.each(["default", "lease", "dal"] as const)(
    "under %s a lease measured by another clock is over by the wall clock, when the kernel lock is not held",
    (profile) => {
      const elsewhere = moment(0, { bootId: "", wallMs: 1_000_000 });
      const held = grant("k", "write", { profile, renewedAt: elsewhere, leaseMs: 1_000, graceMs: 1_000 });
      const at = (wallMs: number, life: Life) => recoverable(held, moment(0, { wallMs }), witness(life))?.reason;
      expect(at(1_002_999, "unknown")).toBe(undefined);
      expect(at(1_003_000, "unknown")).toBe("lease_expired");
      expect(at(1_099_000, "alive")).toBe(undefined);
    },
  );

  it("STALE-2: another machine's grant is foreign, and never dead", () => {
    const elsewhere = moment(0, { bootId: "their boot", machineId: "their machine" });
    const held = grant("k", "write", { renewedAt: elsewhere });
    expect(isForeign(held, moment(0))).toBe(true);
    expect(recoverable(held, moment(0), witness("unknown"))).toBe(null);
    expect(isForeign(grant("k"), moment(0))).toBe(false);
    expect(isForeign(grant("k"), moment(0, { bootId: "next boot" }))).toBe(false);
    expect(isForeign(grant("k"), moment(0, { bootId: "", machineId: "their machine" }))).toBe(true);
  });

  it("STALE-5: the evidence says what was known of the process and for how long it was late", () => {
    const held = grant("k", "write", { leaseMs: 1_000 });
    expect(recoverable(held, moment(1_250), witness("unknown"))?.evidence).toEqual({
      life: "unknown",
      expired_for_ms: 250,
    });
    expect(recoverable(held, moment(10), witness("dead"))?.evidence).toEqual({ life: "dead", expired_for_ms: 0 });
  });

  it("LOCK-5: a lease ends at the end of its duration, not a moment before", () => {
    const held = grant("k", "write", { leaseMs: 1_000 });
    expect([999, 1_000, 1_001].map((ms) => isExpired(held, moment(ms)))).toEqual([false, true, true]);
  });
});

describe("a place in line", () => {
  it("LOCK-12: is lost when it was not refreshed, when its time is up, and over a restart", () => {
    const stands = (ms: number, change = {}) => ticketStands(ticket(1, [want("k")], change), moment(ms));
    expect(stands(TICKET_LEASE_MS - 1)).toBe(true);
    expect(stands(TICKET_LEASE_MS)).toBe(false);
    const fresh = { refreshedAt: moment(60_000) };
    expect(stands(59_999, fresh)).toBe(true);
    expect(stands(60_000, fresh)).toBe(false);
    expect(ticketStands(ticket(1, [want("k")]), moment(1, { bootId: "next boot" }))).toBe(false);
  });

  // kills: boot-unknown-is-old
  it("is kept while it was refreshed by the wall clock, when its boot or the own one is unknown", () => {
    const unknown = ticket(1, [want("k")], {
      refreshedAt: moment(0, { bootId: "" }),
      enteredAt: moment(0, { bootId: "" }),
    });
    for (const bootId of ["", "boot"]) {
      const at = (ms: number) => ticketStands(unknown, moment(0, { bootId, wallMs: 1_000_000 + ms }));
      expect([at(0), at(TICKET_LEASE_MS + 1_999), at(TICKET_LEASE_MS + 2_000)]).toEqual([true, true, false]);
    }
    expect(ticketStands(ticket(1, [want("k")]), moment(1, { bootId: "" }))).toBe(true);
  });
});

describe("whoever will look again", () => {
  const asked: string[] = [];
  const witnessed: Witness = {
    life: ({ nonce }) => {
      asked.push(nonce);
      return "dead";
    },
    hasActiveJob: () => false,
  };
  const held = grant("k", "write", { renewedAt: moment(1_000) });
  const waiting = ticket(1, [want("k")], { refreshedAt: moment(1_000) });

  it.each([
    ["a grant", held],
    ["a ticket", waiting],
  ])("STALE-2: takes %s that was seen a moment ago for alive, and asks about it after that", (_, of) => {
    asked.length = 0;
    expect(patiently(witnessed, moment(1_099)).life(of)).toBe("alive");
    expect(asked).toEqual([]);
    expect(patiently(witnessed, moment(1_100)).life(of)).toBe("dead");
    expect(asked).toEqual([of.nonce]);
  });

  it("STALE-2: asks about what was seen before a restart, whatever the clock says", () => {
    expect(patiently(witnessed, moment(1_001, { bootId: "next" })).life(held)).toBe("dead");
  });
});
