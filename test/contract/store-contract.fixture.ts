/**
 * The promises of a store, as tests that any store can be put through. They speak to it only through `openHoldfast`, with
 * two clients at least (one client proves nothing about a lock), and need no particular test runner:
 *
 *   import { describe, it } from "node:test";
 *   describeStoreContract({ name: "mine", newStore: () => `sqlite:${newFolder()}/locks.db` }, { describe, it });
 *
 * Every test has a store of its own, so a runner may run them side by side. Waits are real and short; none decides a test
 * by how long something took, except where the time itself was promised.
 */
import type { HoldfastOptions } from "../../src/index.js";
import { audit } from "./chapters/audit.js";
import { auditTrail } from "./chapters/audit-trail.js";
import { commits } from "./chapters/commits.js";
import { contention } from "./chapters/contention.js";
import { conversion } from "./chapters/conversion.js";
import { damage } from "./chapters/damage.js";
import { fencing } from "./chapters/fencing.js";
import { grants } from "./chapters/grants.js";
import { input } from "./chapters/input.js";
import { leases } from "./chapters/leases.js";
import { line } from "./chapters/line.js";
import { loss } from "./chapters/loss.js";
import { modes } from "./chapters/modes.js";
import { oneThing } from "./chapters/one-thing.js";
import { order } from "./chapters/order.js";
import { profiles } from "./chapters/profiles.js";
import { reading } from "./chapters/reading.js";
import { reentry } from "./chapters/reentry.js";
import { semaphores } from "./chapters/semaphores.js";
import { settings } from "./chapters/settings.js";
import { stale } from "./chapters/stale.js";
import { trees } from "./chapters/trees.js";
import { window } from "./chapters/window.js";
import { type Chapter, type Need, openBench } from "./test-store.fixture.js";

export interface TestRunner {
  describe(title: string, body: () => void): unknown;
  it(title: string, body: () => Promise<void>): unknown;
}

export interface StoreUnderTest {
  /** What the titles call it. */
  readonly name: string;
  /** The URL of a store that nobody has used yet. Opened twice, it is the same store. */
  newStore(): string | Promise<string>;
  /** Called when the test is over and its clients are closed. */
  dropStore?(url: string): void | Promise<void>;
  /** True when nothing of it is left once its last client has closed. */
  readonly isVolatile?: boolean;
  /** True when only time ends a grant without its holder, because the store takes nobody's word for a death. */
  readonly provesNoDeath?: boolean;
  /** Options for every client of the suite. */
  readonly options?: Omit<HoldfastOptions, "root" | "store" | "owner">;
  /** Rewrites the record of the one grant held on a key, by other means, so that no reader makes sense of it. */
  spoil?(url: string, key: string, how: "unreadable" | "newer"): void | Promise<void>;
  /** Marks a closed store as one of a schema that is yet to come. */
  outdate?(url: string): void | Promise<void>;
  /**
   * Changes the audit chain of a tree behind the store's back: entry `seq` edited, made unreadable or deleted, or the end cut
   * off there.
   */
  tamper?(url: string, tree: string, how: Tampering, seq: number): void | Promise<void>;
}

export type Tampering = "edit" | "ruin" | "delete" | "cut";

const CHAPTERS: Readonly<Record<string, Chapter>> = {
  grants,
  reading,
  input,
  modes,
  trees,
  "re-entry": reentry,
  conversion,
  order,
  line,
  contention,
  leases,
  loss,
  "recovery profiles": profiles,
  "stale locks": stale,
  "one thing": oneThing,
  fencing,
  commits,
  semaphores,
  audit,
  "audit trail": auditTrail,
  settings,
  window,
  damage,
};

/** Declares the whole suite with the runner's own `describe` and `it`. A promise that needs a hook is left out without it. */
export function describeStoreContract(store: StoreUnderTest, { describe, it }: TestRunner): void {
  describe(`the contract of a store: ${store.name}`, () => {
    for (const [title, proofs] of Object.entries(CHAPTERS)) {
      const applicable = Object.entries(proofs).filter(([, { needs }]) => needs === undefined || has(store, needs));
      if (applicable.length === 0) continue;
      describe(title, () => {
        for (const [promise, prove] of applicable)
          it(promise, async () => {
            await using bench = await openBench(store);
            await prove(bench);
          });
      });
    }
  });
}

function has(store: StoreUnderTest, need: Need): boolean {
  return need === "proof of death" ? store.provesNoDeath !== true : store[need] !== undefined;
}
