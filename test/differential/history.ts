/** Random histories: what a handful of clients might do to a store, in words that mean the same on every store. */

import { MODES, type Mode } from "../../src/lock/mode.js";
import { fc } from "../fixed-seed.js";

export const CLIENTS = 4;

/** Where everything happens. `%` stands for the history's own name, so that histories can share a store. */
const PLACES = [
  "%a",
  "%a/x",
  "%a/x/1",
  "%a/y",
  "%a.b",
  "%b",
  "%b/x",
  "project:%",
  "project:%/map:m",
  "worktree:%",
  "vault:%",
] as const;
const SEMAPHORES = ["%a/s", "%s"] as const;
export const TREES = ["%a", "%a.b", "%b", "%s", "project:%", "worktree:%", "vault:%"] as const;

export interface PlacedWant {
  readonly place: string;
  readonly mode: Mode;
  readonly permits: number | null;
}

/** `by` picks a client, one that has what the step is about if there is any; `which` picks among what it has, whatever that is by then. */
export type Step =
  | {
      readonly do: "acquire";
      readonly by: number;
      readonly wants: readonly PlacedWant[];
      readonly waitMs: number;
      readonly shows: "all" | "none" | "last";
      readonly leaseMs: number;
      readonly special: "detached" | "strict order" | "steal" | null;
    }
  | { readonly do: "retry" | "leave" | "give up"; readonly by: number; readonly which: number }
  | { readonly do: "upgrade"; readonly by: number; readonly which: number; readonly waitMs: number }
  | { readonly do: "renew"; readonly by: number; readonly which: number; readonly leaseMs: number | null }
  | {
      readonly do: "downgrade" | "release" | "release all" | "resume" | "commit" | "release another's" | "lend";
      readonly by: number;
      readonly which: number;
    }
  | { readonly do: "recover" | "break" | "inspect"; readonly by: number; readonly place: string }
  | { readonly do: "verify"; readonly place: string; readonly which: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "die"; readonly by: number };

const by = fc.nat({ max: CLIENTS - 1 });
const which = fc.nat({ max: 11 });
const place = fc.constantFrom(...PLACES, ...SEMAPHORES);
const waitMs = fc.constantFrom(0, 0, 3_000, 60_000);

const anyWant: fc.Arbitrary<PlacedWant> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      place: fc.constantFrom(...PLACES),
      mode: fc.constantFrom(...MODES),
      permits: fc.constant(null),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      place: fc.constantFrom(...SEMAPHORES),
      mode: fc.constant("write" as const),
      permits: fc.constantFrom(1, 2, 2, 2),
    }),
  },
);

const acquire: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("acquire" as const),
  by,
  wants: fc.uniqueArray(anyWant, { minLength: 1, maxLength: 3, selector: (want) => want.place }),
  waitMs,
  shows: fc.constantFrom("all", "all", "none", "last"),
  leaseMs: fc.constantFrom(1_000, 4_000, 30_000),
  special: fc.constantFrom(null, null, null, null, null, null, "detached", "strict order", "steal"),
});

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: acquire },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom("retry", "retry", "retry", "leave", "give up"), by, which }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("upgrade" as const), by, which, waitMs }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("renew" as const),
      by,
      which,
      leaseMs: fc.constantFrom(null, 1_000, 8_000),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "release",
        "release",
        "release all",
        "downgrade",
        "resume",
        "commit",
        "lend",
        "release another's",
      ),
      by,
      which,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("recover", "break", "inspect", "inspect"), by, place }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("verify" as const), place, which }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(10, 500, 1_000, 2_500, 6_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("die" as const), by }) },
);

/** A crowd that wants to write one key, with a few who want something else around it. */
const anyTurn: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("acquire" as const),
      by,
      wants: fc.oneof(
        { weight: 6, arbitrary: fc.constant([{ place: "%a/x", mode: "write" as const, permits: null }]) },
        { weight: 1, arbitrary: fc.constant([{ place: "%a/y", mode: "write" as const, permits: null }]) },
        { weight: 1, arbitrary: fc.constant([{ place: "%a/x", mode: "read" as const, permits: null }]) },
        { weight: 1, arbitrary: fc.constant([{ place: "%a", mode: "write" as const, permits: null }]) },
      ),
      waitMs: fc.constantFrom(0, 60_000, 60_000, 60_000),
      shows: fc.constantFrom("none", "none", "none", "all"),
      leaseMs: fc.constantFrom(4_000, 30_000, 30_000),
      special: fc.constant(null),
    }),
  },
  { weight: 7, arbitrary: fc.record({ do: fc.constantFrom("retry", "retry", "retry", "retry", "leave"), by, which }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("release" as const), by, which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(10, 500, 2_500, 6_000) }) },
);

export const anyCrowd = fc.array(anyTurn, { minLength: 10, maxLength: 40, size: "max" });

export const anyHistory = fc.array(anyStep, { minLength: 5, maxLength: 40, size: "max" });
