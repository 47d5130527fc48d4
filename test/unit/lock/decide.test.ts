import { describe, expect, it } from "vitest";
import { type Decision, decide, type Neighbourhood, type Request } from "../../../src/lock/decide.js";
import type { Grant, Ticket, Want } from "../../../src/lock/grant.js";
import { conflictNode } from "../../../src/lock/marks.js";
import { lineOf } from "../../../src/lock/queue.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import {
  anyWant,
  at,
  grant,
  key,
  presenting,
  request,
  ticket,
  want,
  witness,
} from "../../fixtures/lock/samples.fixture.js";

function near(grants: readonly Grant[] = [], tickets: readonly Ticket[] = []): Neighbourhood {
  return { grants, line: lineOf(tickets), unreadable: [] };
}

function ask(around: Neighbourhood, asked: Request, circumstances = at(100)): Decision {
  return decide(around, asked, circumstances);
}

const refused = (code: string) => expect.objectContaining({ kind: "refuse", code });

describe("holders", () => {
  it("LOCK-2: a conflict waits for the holders in the way, and for no others", () => {
    const [one, two, beside] = [grant("a/x", "read"), grant("a/y", "read"), grant("b")];
    expect(ask(near([one, two, beside]), request([want("a")]))).toEqual({
      kind: "wait",
      holders: [one, two],
      behind: null,
    });
    expect(ask(near([one, two, beside]), request([want("a", "read")])).kind).toBe("grant");
  });

  it("STALE-4: recoverable ones are ended instead, all of them", () => {
    const dead = [grant("a/x", "write", { leaseMs: 50 }), grant("a/y", "read", { leaseMs: 100 })];
    const decision = ask(near(dead), request([want("a")]));
    expect(decision).toMatchObject({ kind: "grant", ends: dead.map((each) => ({ grant: each })) });
    const live = grant("a/z", "read");
    expect(ask(near([...dead, live]), request([want("a")]))).toMatchObject({ kind: "wait", holders: [live] });
  });

  it("STORE-2: a live grant of another machine is E_CONFIG, whatever the wait", () => {
    const held = grant("a", "write", {
      renewedAt: { wallMs: 2_000_000, bootMs: 0, bootId: "theirs", machineId: "other" },
    });
    expect(ask(near([held]), request([want("a")]), at(100, witness("unknown")))).toEqual(refused("E_CONFIG"));
    expect(ask(near([held]), request([want("b")])).kind).toBe("grant");
  });

  it("STALE-7: an unreadable record counts as a writer", () => {
    const around = { ...near(), unreadable: [{ resource: key("a/x"), why: "torn" }] };
    for (const wanted of ["a", "a/x", "a/x/y"])
      expect(ask(around, request([want(wanted, "read")]))).toMatchObject({ kind: "wait" });
    expect(ask(around, request([want("a/y")])).kind).toBe("grant");
  });
});

describe("the line", () => {
  const waiting = ticket(1, [want("a")]);

  it("LOCK-12: a newcomer stands behind whoever waits for something it conflicts with", () => {
    expect(ask(near([], [waiting]), request([want("a/x", "read")]))).toEqual({
      kind: "wait",
      holders: [],
      behind: waiting,
    });
    expect(ask(near([], [waiting]), request([want("b")])).kind).toBe("grant");
  });

  it("LOCK-12: the first in line goes, those behind it stay", () => {
    const second = ticket(2, [want("a")]);
    expect(ask(near([], [second, waiting]), request([want("a")], { ticket: waiting })).kind).toBe("grant");
    expect(ask(near([], [second, waiting]), request([want("a")], { ticket: second }))).toMatchObject({
      behind: waiting,
    });
  });

  it("LOCK-12: a dead or lapsed waiter has no place", () => {
    expect(ask(near([], [waiting]), request([want("a")]), at(100, witness("dead"))).kind).toBe("grant");
    expect(ask(near([], [waiting]), request([want("a")]), at(2_000)).kind).toBe("grant");
  });

  it("LOCK-12: who holds something stands behind holders only", () => {
    const held = grant("0");
    expect(ask(near([], [waiting]), request([want("a")], presenting(held))).kind).toBe("grant");
    expect(ask(near([grant("a")], [waiting]), request([want("a")], presenting(held))).kind).toBe("wait");
  });
});

describe("own grants", () => {
  it("LOCK-3: never conflict with own requests, and cover what they cover", () => {
    const mine = grant("a");
    const decision = ask(near([mine]), request([want("a/x"), want("b")], presenting(mine)));
    expect(decision).toMatchObject({ kind: "grant", covers: new Map([[key("a/x"), mine]]) });
    const below = grant("a/x");
    expect(ask(near([below]), request([want("a")], presenting(below)))).toMatchObject({
      kind: "grant",
      covers: new Map(),
    });
  });

  it("LOCK-10: are those whose token is presented, not those of the same owner", () => {
    const mine = grant("a");
    expect(ask(near([mine]), request([want("a", "read")]))).toMatchObject({ kind: "wait", holders: [mine] });
    const forged = request([want("a")], { presented: new Set(["guess"]), holds: [key("a")] });
    expect(ask(near([mine]), forged)).toEqual(refused("E_LOCK_ORDER"));
  });

  it("LOCK-3, LOCK-9: a reader asks for no more than reading below its read", () => {
    const mine = grant("a", "read");
    for (const mode of ["upgradeable", "write"] as const)
      for (const wanted of ["a", "a/x"])
        expect(ask(near([mine]), request([want(wanted, mode)], presenting(mine)))).toEqual(
          refused("E_INVALID_ARGUMENT"),
        );
    expect(ask(near([mine]), request([want("a/x", "read")], presenting(mine))).kind).toBe("grant");
    const above = grant("a/x", "read");
    expect(ask(near([above]), request([want("a")], presenting(above))).kind).toBe("grant");
  });

  it("LOCK-10: the same once more nests, more on the same key is a conversion", () => {
    for (const mode of ["read", "upgradeable", "write"] as const) {
      const mine = grant("a", mode);
      expect(ask(near([mine]), request([want("a", mode)], presenting(mine)))).toMatchObject({
        covers: new Map([[key("a"), mine]]),
      });
    }
    const mine = grant("a", "upgradeable");
    expect(ask(near([mine]), request([want("a")], presenting(mine)))).toEqual(refused("E_INVALID_ARGUMENT"));
  });
});

describe("order", () => {
  const held = grant("m");

  it("LOCK-11: a client that holds something waits only for nodes after all it holds", () => {
    for (const [wanted, kind] of [
      ["z", "wait"],
      ["a", "refuse"],
      ["m/x", "wait"],
      ["project:p", "refuse"],
    ] as const)
      expect(ask(near([grant(wanted)]), request([want(wanted)], presenting(held))).kind, wanted).toBe(kind);
  });

  it("LOCK-11: what counts is the node where it is blocked, not the key it asks for", () => {
    const above = grant("a", "read");
    expect(ask(near([above]), request([want("a/x/y/z")], presenting(held)))).toEqual(refused("E_LOCK_ORDER"));
  });

  it("LOCK-11: and the ancestors of what it holds count as held", () => {
    const deep = grant("z/z/z");
    expect(ask(near([grant("n")]), request([want("n")], presenting(deep)))).toEqual(refused("E_LOCK_ORDER"));
    expect(ask(near([grant("z/z/zz")]), request([want("z/z/zz")], presenting(deep))).kind).toBe("wait");
  });

  it("LOCK-11: strict order refuses an earlier key even when it is free", () => {
    const strict = { ...presenting(held), strictOrder: true };
    expect(ask(near(), request([want("a")], strict))).toEqual(refused("E_LOCK_ORDER"));
    expect(ask(near(), request([want("z")], strict)).kind).toBe("grant");
    expect(ask(near(), request([want("a")], presenting(held))).kind).toBe("grant");
  });
});

describe("upgrades", () => {
  const mine = grant("k", "upgradeable");
  const upgrade = (...others: readonly Grant[]): Request =>
    request([want("k")], { ...presenting(mine, ...others), upgradeOf: mine });

  it("LOCK-9: wait for the readers on the node and below it", () => {
    const readers = [grant("k", "read"), grant("k/x", "read")];
    expect(ask(near([mine, ...readers]), upgrade())).toEqual({ kind: "wait", holders: readers, behind: null });
    expect(ask(near([mine]), upgrade()).kind).toBe("grant");
  });

  it("LOCK-9: do not wait while a later node is held", () => {
    const reader = grant("k", "read");
    expect(ask(near([mine, reader]), upgrade(grant("a"))).kind).toBe("wait");
    expect(ask(near([mine, reader]), upgrade(grant("z")))).toEqual(refused("E_LOCK_ORDER"));
    expect(ask(near([mine]), upgrade(grant("z"))).kind).toBe("grant");
  });

  it("LOCK-9: keep out new readers while in line, except those who are there already", () => {
    const reader = grant("k/x", "read");
    const inLine = ticket(0, [want("k")], { upgradeOf: mine.lockId });
    const around = near([mine, reader], [inLine]);
    expect(ask(around, request([want("k/y", "read")])).kind).toBe("wait");
    expect(ask(around, request([want("k/y", "read")], presenting(grant("a")))).kind).toBe("wait");
    expect(ask(around, request([want("k/y", "read")], presenting(reader))).kind).toBe("grant");
    expect(ask(near([mine, reader]), request([want("k/y", "read")])).kind).toBe("grant");
    const lapsed = ticket(0, [want("k")], { upgradeOf: mine.lockId, waitMs: 50 });
    expect(ask(near([mine, reader], [lapsed]), request([want("k/y", "read")])).kind).toBe("grant");
  });
});

describe("semaphores", () => {
  const place = (change: Partial<Grant> = {}): Grant => grant("s", "write", { permits: 2, ...change });

  it("LOCK-16: are full when all places are taken", () => {
    expect(ask(near([place()]), request([want("s", "write", 2)])).kind).toBe("grant");
    const full = [place(), place()];
    expect(ask(near(full), request([want("s", "write", 2)]))).toEqual({ kind: "wait", holders: full, behind: null });
  });

  it("LOCK-16: give the places of the gone when no other is left", () => {
    const gone = place({ leaseMs: 50 });
    expect(ask(near([place(), gone]), request([want("s", "write", 2)]))).toMatchObject({ ends: [{ grant: gone }] });
    expect(ask(near([gone]), request([want("s", "write", 2)]))).toMatchObject({ kind: "grant", ends: [] });
  });

  it("STALE-4: what is in the way of two keys of one request ends once", () => {
    const gone = grant("a/s", "write", { permits: 1, leaseMs: 50 });
    const decision = ask(near([gone]), request([want("a"), want("a/s", "write", 1)]));
    expect(decision).toMatchObject({ kind: "grant", ends: [{ grant: gone }] });
  });

  it("LOCK-16: have one number of places at a time, and are no plain locks", () => {
    for (const wanted of [want("s", "write", 3), want("s"), want("s", "read")])
      expect(ask(near([place()]), request([wanted]))).toEqual(refused("E_INVALID_ARGUMENT"));
    expect(ask(near([grant("s", "read")]), request([want("s", "write", 2)]))).toEqual(refused("E_INVALID_ARGUMENT"));
  });

  it("LOCK-16: a client waits for no place of its own", () => {
    const [mine, more] = [place(), place()];
    expect(ask(near([mine, more]), request([want("s", "write", 2)], presenting(mine, more)))).toEqual(
      refused("E_LOCK_ORDER"),
    );
  });
});

describe("whatever came before", () => {
  interface Act {
    readonly client: number;
    readonly wants: readonly Want[];
    readonly drop: number;
  }
  const anyAct: fc.Arbitrary<Act> = fc.record({
    client: fc.nat({ max: 3 }),
    wants: fc.uniqueArray(anyWant, { minLength: 1, maxLength: 3, selector: (each) => each.resource }),
    drop: fc.nat({ max: 9 }),
  });

  it("LOCK-2, LOCK-3, LOCK-16: what is granted to different clients gets along at every node", () => {
    fc.assert(
      fc.property(fc.array(anyAct, { maxLength: 40 }), (acts) => {
        let held: { client: number; grant: Grant }[] = [];
        for (const { client, wants, drop } of acts) {
          const own = held.filter((each) => each.client === client).map((each) => each.grant);
          const decision = ask(near(held.map((each) => each.grant)), request(wants, presenting(...own)));
          if (decision.kind === "grant")
            for (const each of wants)
              held.push({ client, grant: grant(each.resource, each.mode, { permits: each.permits }) });
          else held = held.filter((_, index) => index !== drop);
          for (const one of held)
            for (const other of held)
              if (one.client !== other.client) expect(conflictNode(one.grant, other.grant)).toBe(null);
          for (const { grant: one } of held) {
            const places = held.filter((each) => each.grant.resource === one.resource && each.grant.permits !== null);
            expect(places.length).toBeLessThanOrEqual(places[0]?.grant.permits ?? 0);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("LOCK-12: it never grants past a holder that is alive, nor past an earlier ticket to who holds nothing", () => {
    const anyHeld = fc.array(
      anyWant.map(({ resource, mode, permits }) => grant(resource, mode, { permits })),
      {
        maxLength: 4,
      },
    );
    const anyLine = fc.array(fc.array(anyWant, { minLength: 1, maxLength: 2 }), { maxLength: 3 });
    fc.assert(
      fc.property(anyHeld, anyLine, fc.array(anyWant, { minLength: 1, maxLength: 3 }), (held, line, wants) => {
        const tickets = line.map((each, index) => ticket(index + 1, each));
        const decision = ask(near(held, tickets), request(wants));
        const isBlocked = held.some((holder) => wants.some((mine) => conflictNode(holder, mine) !== null));
        if (isBlocked) expect(decision.kind).not.toBe("grant");
        if (decision.kind === "grant") expect(decision.ends).toEqual([]);
        if (decision.kind === "wait")
          expect(decision.holders.length + (decision.behind === null ? 0 : 1)).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});
