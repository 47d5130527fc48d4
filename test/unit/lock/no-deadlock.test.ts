import { describe, expect, it } from "vitest";
import type { Want } from "../../../src/lock/grant.js";
import { conflictNode } from "../../../src/lock/marks.js";
import { MODES } from "../../../src/lock/mode.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { key } from "../../fixtures/lock/samples.fixture.js";
import { type Client, type Pending, Town } from "./client-model.fixture.js";

const CLIENTS = 4;
/** A client may ask for two things at once; whoever holds nothing has only one request to make. */
const MOST_PENDING = 2;

type Act =
  | { readonly act: "acquire"; readonly client: number; readonly wants: readonly Want[] }
  | { readonly act: "upgrade" | "downgrade" | "release" | "retry"; readonly client: number; readonly which: number };

const client = fc.nat({ max: CLIENTS - 1 });
/** Few keys, so that clients meet: a tree, another top-level key, one of a level that sorts first, and a semaphore. */
const anyKey = fc.constantFrom("a", "a/x", "a/y", "b", "b/map:m").map(key);
const anyWant: fc.Arbitrary<Want> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ resource: anyKey, mode: fc.constantFrom(...MODES), permits: fc.constant(null) }),
  },
  { weight: 1, arbitrary: fc.constant({ resource: key("s"), mode: "write", permits: 2 } as const) },
);
const wants = fc.uniqueArray(anyWant, { minLength: 1, maxLength: 2, selector: (want) => want.resource });
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ act: fc.constant("acquire" as const), client, wants }) },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constantFrom<"upgrade" | "retry" | "downgrade" | "release">(
        "upgrade",
        "upgrade",
        "retry",
        "downgrade",
        "release",
      ),
      client,
      which: fc.nat({ max: 9 }),
    }),
  },
);

async function perform(town: Town, act: Act): Promise<void> {
  const actor = town.clients[act.client];
  if (actor === undefined) return;
  const isBusy = actor.pending.length >= (actor.held.length > 0 ? MOST_PENDING : 1);
  if (act.act === "acquire") {
    if (!isBusy) await town.acquire(actor, act.wants);
    return;
  }
  const request = actor.pending[act.which % Math.max(1, actor.pending.length)];
  const grant = actor.held[act.which % Math.max(1, actor.held.length)];
  if (act.act === "retry" && request !== undefined) await town.retry(request);
  if (act.act !== "retry" && grant !== undefined && !(act.act === "upgrade" && isBusy))
    await town[act.act](actor, grant);
}

/**
 * Whom a request waits for, as far as they wait themselves: holders let go only after all they wait for, a place in line
 * only after its own request.
 */
async function waitsFor(town: Town, request: Pending): Promise<Pending[]> {
  const decision = await town.decisionOn(request);
  if (decision.kind !== "wait") return [];
  const holders = town.clients.filter((other) =>
    other.held.some((held) => decision.holders.some((holder) => holder.lockId === held.lockId)),
  );
  const ahead = town.waiting.filter((other) => other.ticketId === decision.behind?.ticketId);
  return [...holders.flatMap((holder) => holder.pending), ...ahead];
}

async function expectNoCycle(town: Town): Promise<void> {
  const edges = new Map<Pending, Pending[]>();
  for (const request of town.waiting) edges.set(request, await waitsFor(town, request));
  const done = new Set<Pending>();
  const visit = (request: Pending, path: readonly Pending[]): void => {
    const names = [...path, request].map((each) => `${each.client.party.owner} → ${show(each.wants)}`);
    expect(path.includes(request) ? names : [], "a cycle of waits").toEqual([]);
    if (done.has(request)) return;
    for (const next of edges.get(request) ?? []) visit(next, [...path, request]);
    done.add(request);
  };
  for (const request of town.waiting) visit(request, []);
}

function show(asked: readonly Want[]): string {
  return asked.map(({ resource, mode, permits }) => `${permits ?? mode} ${resource}`).join(" + ");
}

function expectPeace(town: Town): void {
  for (const one of town.clients)
    for (const other of town.clients)
      if (one !== other)
        for (const mine of one.held) for (const theirs of other.held) expect(conflictNode(mine, theirs)).toBe(null);
}

async function releaseAll(town: Town, idle: Client): Promise<void> {
  while (idle.held.length > 0) {
    const before = idle.held.length;
    for (const grant of [...idle.held].reverse()) await town.release(idle, grant);
    expect(idle.held.length, "something can always be released").toBeLessThan(before);
  }
}

/** Holders that do not wait let go; in every round of that at least one wait ends, until none is left. */
async function expectEveryWaitEnds(town: Town): Promise<void> {
  while (town.waiting.length > 0) {
    const before = town.waiting.length;
    for (const idle of town.clients) if (idle.pending.length === 0) await releaseAll(town, idle);
    for (const request of town.waiting) await town.retry(request);
    expect(town.waiting.length, "a wait that never ends").toBeLessThan(before);
  }
}

describe("clients that present what they hold", () => {
  it("LOCK-13: wait in no circle, and every wait ends, with no time limit to end it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyAct, { minLength: 5, maxLength: 40 }), async (acts) => {
        const town = new Town(CLIENTS);
        for (const act of acts) {
          await perform(town, act);
          expectPeace(town);
          await expectNoCycle(town);
        }
        await expectEveryWaitEnds(town);
      }),
      { numRuns: 1_000 },
    );
  }, 600_000);
});
