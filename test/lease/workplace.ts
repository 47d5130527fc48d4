/** A workplace on the reference store, with time that only the test moves and a line to the store that can be cut. */
import { vi } from "vitest";
import { Holdfast } from "../../src/lease/holdfast.js";
import { createLoopHeart } from "../../src/lease/loop-heart.js";
import { DEFAULT_SETTINGS } from "../../src/lock/settings.js";
import type { Fence, Locks, Reader, Store } from "../../src/store/contract.js";
import { createLocalStore } from "../../src/store/local-store.js";
import { createMemoryLedger } from "../../src/store/memory/ledger.js";
import { surroundings } from "../lock/samples.js";

export interface Workplace {
  readonly holdfast: Holdfast;
  /** Another client of the same store whose line is never cut. */
  readonly other: Holdfast;
  readonly locks: Locks;
  readonly fence: Fence;
  readonly reader: Reader;
  /** While set, every call of this name fails with the error. */
  readonly failing: Map<keyof Locks, unknown>;
  /** Every call of this name is answered only after so many milliseconds. */
  readonly slow: Map<keyof Locks, number>;
  readonly calls: (keyof Locks)[];
}

/** Call it with fake timers on: the clock is theirs. */
export function openWorkplace(rhythm = { heartbeatMs: 10_000, maxStallMs: null }): Workplace {
  const clock = () => ({ wallMs: Date.now(), bootMs: Date.now(), bootId: "boot", machineId: "machine" });
  const ledger = createMemoryLedger("memory:workplace", DEFAULT_SETTINGS, clock);
  const store = createLocalStore(ledger, surroundings("unknown"));
  const failing: Workplace["failing"] = new Map();
  const slow: Workplace["slow"] = new Map();
  const calls: (keyof Locks)[] = [];

  const wired = Object.fromEntries(
    Object.entries(store.locks).map(([name, call]) => [
      name,
      async (...args: unknown[]) => {
        calls.push(name as keyof Locks);
        if (failing.has(name as keyof Locks)) throw failing.get(name as keyof Locks);
        const answer = await (call as (...args: unknown[]) => Promise<unknown>)(...args);
        const delayMs = slow.get(name as keyof Locks);
        if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs));
        return answer;
      },
    ]),
  ) as unknown as Locks;

  const open = (client: Store): Holdfast =>
    new Holdfast({
      store: client,
      owner: "agent:tested",
      clock,
      heart: createLoopHeart(client.locks, clock, rhythm),
      ttl: undefined,
      wait: undefined,
      graceMs: null,
      strictOrder: false,
    });
  return {
    holdfast: open({ ...store, locks: wired }),
    other: open(store),
    locks: store.locks,
    fence: store.fence,
    reader: store.reader,
    failing,
    slow,
    calls,
  };
}

/** Lets time pass, with everything that was to happen in it. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}
