import { describe, expect, it } from "vitest";
import type { Grant, Ticket } from "../../../src/lock/grant.js";
import { treeOf } from "../../../src/lock/key.js";
import { conflictNode } from "../../../src/lock/marks.js";
import { byNumber, type Line, lineOf, nextInLine, standsInTheWay } from "../../../src/lock/queue.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { anyWant, grant, moment, ticket, want, witness } from "../../fixtures/lock/samples.fixture.js";

const now = moment(100);

describe("who is held back by a place in line", () => {
  it("LOCK-12: whoever wants something that conflicts with what it wants", () => {
    const writer = ticket(1, [want("a/x")]);
    for (const key of ["a", "a/x", "a/x/y"]) expect(standsInTheWay(writer, [want(key, "read")])).toBe(true);
    expect(standsInTheWay(writer, [want("a/y", "read"), want("b")])).toBe(false);
    expect(standsInTheWay(ticket(1, [want("a", "read")]), [want("a", "read")])).toBe(false);
  });

  it("LOCK-12: any of several keys is enough", () => {
    expect(standsInTheWay(ticket(1, [want("a"), want("b")]), [want("c"), want("b", "read")])).toBe(true);
  });

  it("LOCK-16: places of one semaphore take turns, those of different ones do not", () => {
    expect(standsInTheWay(ticket(1, [want("s", "write", 2)]), [want("s", "write", 2)])).toBe(true);
    expect(standsInTheWay(ticket(1, [want("s", "write", 2)]), [want("r", "write", 2)])).toBe(false);
  });
});

/** As a store that knows the tree of all of them has it. */
function within(line: Line): Line {
  const trees = new Set([...line].flatMap(({ wants }) => wants.map(({ resource }) => treeOf(resource))));
  const [tree = null] = trees;
  const { isEmpty } = line;
  const find = (ticketId: string) => line.find(ticketId);
  return {
    isEmpty,
    countTo: (atMost) => line.countTo(atMost),
    find,
    within: trees.size === 1 ? tree : null,
    [Symbol.iterator]: () => line[Symbol.iterator](),
  };
}

describe("who is woken", () => {
  const turn = (tickets: readonly Ticket[], held: readonly Grant[] = [], who = witness()) =>
    nextInLine(within(lineOf(tickets)), held, { now, witness: who, hasGone: () => false });
  const woken = (...about: Parameters<typeof turn>) => turn(...about).next.map((each) => each.number);

  // kills: line-closed-too-soon
  it("LOCK-12: only whoever can go next, in the order of numbers", () => {
    const line = [ticket(3, [want("k")]), ticket(1, [want("k", "read")]), ticket(2, [want("k", "read")])];
    expect(woken(line)).toEqual([1, 2]);
    expect(woken(line, [grant("k")])).toEqual([]);
    expect(woken(line, [grant("k", "read")])).toEqual([1, 2]);
    expect(woken([ticket(1, [want("k")]), ticket(2, [want("k", "read")]), ticket(3, [want("m")])])).toEqual([1, 3]);
    expect(woken([ticket(1, [want("k/x")]), ticket(2, [want("k/y")])], [grant("k/z")])).toEqual([1, 2]);
  });

  it("LOCK-12: a request for several keys is woken when all are free, and holds back others until then", () => {
    const both = ticket(1, [want("k"), want("m")]);
    expect(woken([both, ticket(2, [want("k")])], [grant("m")])).toEqual([]);
    expect(woken([both, ticket(2, [want("k")])])).toEqual([1]);
  });

  it("LOCK-12: the lapsed and the dead are passed over", () => {
    const lapsed = ticket(1, [want("k")], { refreshedAt: moment(-5_000) });
    expect(woken([lapsed, ticket(2, [want("k")])])).toEqual([2]);
    expect(turn([lapsed, ticket(2, [want("k")])]).over).toEqual([lapsed]);
    const dead = { life: (of: { nonce: string }) => (of.nonce === "waiter-1" ? "dead" : "alive") } as const;
    const line = [ticket(1, [want("k")]), ticket(2, [want("k")])];
    expect(woken(line, [], { ...witness(), ...dead })).toEqual([2]);
  });

  it("LOCK-9: an upgrade at the head is not held back by its own grant", () => {
    const mine = grant("k", "upgradeable");
    const upgrade = ticket(0, [want("k")], { upgradeOf: mine.lockId });
    expect(woken([ticket(1, [want("k", "read")]), upgrade], [mine])).toEqual([0]);
    expect(woken([upgrade], [mine, grant("k", "read")])).toEqual([]);
  });

  it("LOCK-12: is not read further than somebody who wants a whole tree for himself", () => {
    const read: number[] = [];
    const tickets = [1, 2, 3].map((number) => ticket(number, [want(number === 1 ? "k/x" : "k")]));
    const line = {
      ...within(lineOf(tickets)),
      *[Symbol.iterator]() {
        for (const each of tickets) {
          read.push(each.number);
          yield each;
        }
      },
    };
    nextInLine(line, [], { now, witness: witness(), hasGone: () => false });
    expect(read).toEqual([1, 2]);
  });

  it("LOCK-12: everybody is woken but whom a holder or somebody ahead keeps out; with nothing held the first always is", () => {
    const anyLine = fc
      .array(fc.array(anyWant, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 })
      .map((wants) => wants.map((each, at) => ticket(at + 1, each)));
    const anyHeld = fc.array(
      anyWant.map(({ resource, mode, permits }) => grant(resource, mode, { permits })),
      {
        maxLength: 3,
      },
    );
    fc.assert(
      fc.property(anyLine, anyHeld, (line, held) => {
        const { next } = turn(line, held);
        for (const each of next) {
          const ahead = line.filter((other) => byNumber(other, each) < 0);
          expect(ahead.some((other) => standsInTheWay(other, each.wants))).toBe(false);
          expect(held.some((holder) => each.wants.some((mine) => conflictNode(holder, mine) !== null))).toBe(false);
        }
        for (const each of line.filter((other) => !next.includes(other))) {
          const ahead = line.filter((other) => byNumber(other, each) < 0);
          const isKeptOut = held.some((holder) => each.wants.some((mine) => conflictNode(holder, mine) !== null));
          expect(isKeptOut || ahead.some((other) => standsInTheWay(other, each.wants))).toBe(true);
        }
        if (held.length === 0) expect(next[0]).toBe(line[0]);
      }),
    );
  });
});
