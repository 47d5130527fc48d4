/** The stores side by side, each with a clock that only the test moves and clients whose death the test decides. */
import { closeSync, existsSync, fstatSync, mkdirSync, mkdtempSync, openSync, rmSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Proof } from "../../src/lock/grant.js";
import type { Settings } from "../../src/lock/settings.js";
import type { Instant } from "../../src/lock/time.js";
import type { Store } from "../../src/store/contract.js";
import { openFileStore } from "../../src/store/file/open.js";
import { openMemoryStore } from "../../src/store/memory/open.js";
import { openSqliteStore } from "../../src/store/sqlite/open.js";
import { tryLockExclusive } from "../../src/support/kernel-lock.js";
import { thisMachine } from "../../src/support/machine.js";

export interface Habitat {
  readonly name: string;
  /** Opened several times: each look goes through another opening, as if another process came. */
  readonly store: Store;
  readonly now: () => Instant;
  /** Clocks only move forward: to a moment, and by some time. */
  goTo(ms: number): void;
  pass(ms: number): void;
  /** A client comes to life, and gets its proof. */
  bear(nonce: string): Proof;
  /** It is gone from one moment to the next, and proven to be. */
  kill(nonce: string): void;
  close(): Promise<void>;
}

export const SETTINGS: Partial<Settings> = {
  profiles: { "project:": "dal", "worktree:": "lease", "vault:": "strict" },
};
export const OPENINGS = 3;
/** Nothing here has to survive a power cut, so nothing has to wait for a disk. */
const IN_MEMORY = "/dev/shm";
const START_MS = 1_800_000_000_000;

export function createClock() {
  let ms = 0;
  const clock = () => ({ wallMs: START_MS + ms, bootMs: 5_000 + ms, ...thisMachine() });
  return {
    clock,
    goTo(moment: number): void {
      ms = Math.max(ms, moment);
    },
    pass(more: number): void {
      ms += more;
    },
  };
}

/** One after the other, and again from the start. */
export function createTurn(openings: readonly Store[]): () => Store {
  let turn = 0;
  return () => {
    turn += 1;
    const opening = openings[turn % openings.length];
    if (opening === undefined) throw new RangeError("nothing is open");
    return opening;
  };
}

export async function openMemoryHabitat(): Promise<Habitat> {
  const { clock, goTo, pass } = createClock();
  const url = `memory:differential-${process.pid}`;
  const openings = Array.from({ length: OPENINGS }, () => openMemoryStore(url, SETTINGS, clock));
  const next = createTurn(openings);
  const clients = new Map<string, Store>();
  return {
    name: "memory",
    get store() {
      return next();
    },
    now: clock,
    goTo,
    pass,
    bear(nonce) {
      const client = openMemoryStore(url, {}, clock);
      clients.set(nonce, client);
      return client.prove(nonce, {});
    },
    kill(nonce) {
      void clients.get(nonce)?.close();
      clients.delete(nonce);
    },
    async close() {
      for (const opening of openings) await opening.close();
    },
  };
}

/** Stores whose clients are processes: a client is a kernel lock on its proof file, and dies when that is let go. */
async function openFolderHabitat(
  name: string,
  open: (folder: string, clock: ReturnType<typeof createClock>["clock"]) => Promise<Store>,
): Promise<Habitat> {
  const { clock, goTo, pass } = createClock();
  const folder = mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), `holdfast-differential-${name}-`));
  const openings: Store[] = [];
  for (let times = 0; times < OPENINGS; times += 1) openings.push(await open(folder, clock));
  const next = createTurn(openings);
  const alive = join(folder, "alive");
  mkdirSync(alive, { recursive: true });
  const clients = new Map<string, number>();
  return {
    name,
    get store() {
      return next();
    },
    now: clock,
    goTo,
    pass,
    bear(nonce) {
      const fd = openSync(join(alive, nonce), "wx+");
      if (!tryLockExclusive(fd)) throw new Error("a new file was locked already");
      clients.set(nonce, fd);
      const { dev, ino, birthtimeNs } = fstatSync(fd, { bigint: true });
      return { kind: "file", file: `${dev}:${ino}:${birthtimeNs}`, inherited: false };
    },
    kill(nonce) {
      const fd = clients.get(nonce);
      if (fd !== undefined) closeSync(fd);
      clients.delete(nonce);
    },
    async close() {
      for (const [nonce, fd] of clients) {
        closeSync(fd);
        unlinkSync(join(alive, nonce));
      }
      for (const opening of openings) await opening.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const openSqliteHabitat = (): Promise<Habitat> =>
  openFolderHabitat("sqlite", (folder, clock) => openSqliteStore(join(folder, "locks.db"), SETTINGS, clock));

export const openFileHabitat = (): Promise<Habitat> =>
  openFolderHabitat("file", (folder, clock) => openFileStore(folder, SETTINGS, clock));
