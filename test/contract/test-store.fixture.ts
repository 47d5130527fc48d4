/** Where one test happens: a fresh store, its clients, and processes that can be ended. All of it goes with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type Holdfast, type HoldfastOptions, openHoldfast } from "../../src/index.js";
import type { StoreUnderTest } from "./store-contract.fixture.js";

type Hook = "spoil" | "outdate" | "tamper";
/** What a promise needs of the store under test. */
export type Need = Hook | "proof of death";

/** One promise, tried out. Left out where the store under test lacks what it needs. */
export type Proof = ((bench: Bench) => Promise<void>) & { readonly needs?: Need };
export type Chapter = Readonly<Record<string, Proof>>;

export function needing(need: Need, proof: (bench: Bench) => Promise<void>): Proof {
  return Object.assign(proof, { needs: need });
}

/** So that neither a renewal nor a wait that ends comes in between on a machine that stood still for a while. */
const UNHURRIED = { ttl: "10m", wait: "1m" } as const;

interface MortalProcess {
  readonly pid: number;
  kill(): Promise<void>;
}

export interface Bench extends AsyncDisposable {
  readonly url: string;
  readonly store: StoreUnderTest;
  /** Another client of the store, by default under an owner name of its own, with long leases and much patience. */
  client(options?: HoldfastOptions): Promise<Holdfast>;
  /** Two clients who know nothing of each other. */
  two(options?: HoldfastOptions): Promise<[Holdfast, Holdfast]>;
  many(count: number, options?: HoldfastOptions): Promise<Holdfast[]>;
  /** A process that does nothing but live, for grants that are bound to one. */
  process(): Promise<MortalProcess>;
  /** Closes every client; the store stays where it is. */
  closeAll(): Promise<void>;
}

export async function openBench(store: StoreUnderTest): Promise<Bench> {
  const url = await store.newStore();
  const clients: Holdfast[] = [];
  const children: ChildProcess[] = [];
  let opened = 0;

  async function client(options: HoldfastOptions = {}): Promise<Holdfast> {
    opened += 1;
    const holdfast = await openHoldfast({
      ...UNHURRIED,
      owner: `agent:client-${opened}`,
      ...store.options,
      ...options,
      store: url,
    });
    clients.push(holdfast);
    return holdfast;
  }
  async function many(count: number, options?: HoldfastOptions): Promise<Holdfast[]> {
    return Promise.all(Array.from({ length: count }, () => client(options)));
  }
  async function closeAll(): Promise<void> {
    for (const holdfast of clients.splice(0)) await holdfast.close();
  }
  return {
    url,
    store,
    client,
    many,
    closeAll,
    two: async (options) => [await client(options), await client(options)],
    async process() {
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
      children.push(child);
      await once(child, "spawn");
      return { pid: child.pid ?? 0, kill: () => end(child) };
    },
    async [Symbol.asyncDispose]() {
      await closeAll();
      await Promise.all(children.map(end));
      await store.dropStore?.(url);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
