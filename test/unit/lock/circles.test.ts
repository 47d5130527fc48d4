/** Circles among waiters: found where there is one, and not where there is none. */
import { describe, expect, it } from "vitest";
import { type Circle, circlesAmong, circleThrough, isHeldUpBy, mayKeep } from "../../../src/lock/circles.js";
import type { Grant, Ticket } from "../../../src/lock/grant.js";
import { grant, moment, ticket, want } from "../../fixtures/lock/samples.fixture.js";

const holdersAmong =
  (grants: readonly Grant[]) =>
  (one: Ticket): readonly Grant[] =>
    grants.filter((each) => isHeldUpBy(one, each));

const inWords = (circle: Circle): string[] =>
  circle.map(({ ticket: { nonce }, waitsFor }) => `${nonce} waits for ${waitsFor.nonce} on ${waitsFor.resource}`);

/** A holder of the first key that waits for the second. */
function process(nonce: string, held: string, wanted: string, at = 0): { grant: Grant; ticket: Ticket } {
  return {
    grant: grant(held, "write", { nonce, owner: `agent:${nonce}` }),
    ticket: ticket(at + 1, [want(wanted)], { nonce, owner: `agent:${nonce}`, enteredAt: moment(at) }),
  };
}

function found(...processes: readonly { grant: Grant; ticket: Ticket }[]): string[][] {
  const grants = processes.map((each) => each.grant);
  const tickets = processes.map((each) => each.ticket);
  return circlesAmong(tickets, holdersAmong(grants)).map(inWords);
}

describe("circles of waiters", () => {
  it("two, and three, are found once, the longest wait first", () => {
    expect(found(process("a", "k1", "k2", 2), process("b", "k2", "k1", 1))).toEqual([
      ["b waits for a on k1", "a waits for b on k2"],
    ]);
    expect(found(process("a", "k1", "k2", 1), process("b", "k2", "k3"), process("c", "k3", "k1", 3))).toEqual([
      ["b waits for c on k3", "c waits for a on k1", "a waits for b on k2"],
    ]);
  });

  it("two circles are found beside waiters that only lead to them", () => {
    const both = found(
      process("a", "k1", "k2"),
      process("b", "k2", "k1", 1),
      process("led", "k5", "k1", 2),
      process("c", "k3", "k4", 3),
      process("d", "k4", "k3", 4),
    );
    expect(both.map((circle) => circle.length)).toEqual([2, 2]);
  });

  it("a waiter for its own lock is a circle of one", () => {
    expect(found(process("a", "k", "k"))).toEqual([["a waits for a on k"]]);
  });

  it("a circle goes through keys above and below", () => {
    expect(found(process("a", "p/x", "q"), process("b", "q/y", "p", 1))).toHaveLength(1);
  });

  it("a chain, readers, and places of a semaphore make none", () => {
    expect(found(process("a", "k1", "k2"), process("b", "k2", "k3"), process("c", "k3", "k4"))).toEqual([]);
    const [one, two] = [process("a", "k1", "k2"), process("b", "k2", "k1")];
    const reading = [one, two].map((each) => ({ ...each, grant: { ...each.grant, mode: "read" as const } }));
    const asReaders = reading.map((each) => ({
      ...each,
      ticket: { ...each.ticket, wants: each.ticket.wants.map((each_) => ({ ...each_, mode: "read" as const })) },
    }));
    expect(found(...asReaders)).toEqual([]);
    const places = [one, two].map((each) => ({
      grant: { ...each.grant, permits: 2 },
      ticket: { ...each.ticket, wants: each.ticket.wants.map((each_) => ({ ...each_, permits: 2 })) },
    }));
    expect(found(...places)).toEqual([]);
  });

  // kills: circle-later-grant
  it("a grant that came after the wait began belongs to another task", () => {
    const [one, two] = [process("a", "k1", "k2"), process("b", "k2", "k1")];
    expect(found({ ...one, grant: { ...one.grant, createdAt: 1_000_001 } }, two)).toEqual([]);
  });

  it("a detached grant is its owner's, and another one's is not", () => {
    const [one, two] = [process("a", "k1", "k2"), process("b", "k2", "k1")];
    const detached = { ...one.grant, nonce: "gone", detached: true };
    expect(mayKeep(one.ticket, detached)).toBe(true);
    expect(mayKeep(two.ticket, detached)).toBe(false);
    expect(found({ ...one, grant: detached }, two)).toHaveLength(1);
  });

  it("a refusal needs the word of every member", () => {
    const [one, two] = [process("a", "k1", "k2"), process("b", "k2", "k1")];
    const saying = ({ grant: held, ticket: waiter }: typeof one): Ticket => ({
      ...waiter,
      kept: [{ resource: held.resource, lockId: held.lockId }],
    });
    const holdersOf = holdersAmong([one.grant, two.grant]);
    const first = saying(one);
    expect(circleThrough(first, [first, saying(two)], holdersOf)).toHaveLength(2);
    expect(circleThrough(first, [first, two.ticket], holdersOf)).toBeNull();
  });

  it("ten thousand waiters without a circle are looked through at once", () => {
    const many = Array.from({ length: 10_000 }, (_, at) => process(`p${at}`, `k${at}`, `k${at + 1}`, at));
    const byKey = new Map<string, Grant>(many.map((each) => [each.grant.resource, each.grant]));
    const holdersOf = (one: Ticket): Grant[] => [byKey.get(one.wants[0]?.resource ?? "") ?? []].flat();
    const before = globalThis.process.cpuUsage().user;
    expect(
      circlesAmong(
        many.map((each) => each.ticket),
        holdersOf,
      ),
    ).toEqual([]);
    expect((globalThis.process.cpuUsage().user - before) / 1e6).toBeLessThan(5);
  });
});
