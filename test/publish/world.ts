/** A folder with a store and a target, clients whose hearts do not beat by themselves, and what must be true there. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Beating, Pulse } from "../../src/lease/heart.js";
import { Holdfast } from "../../src/lease/holdfast.js";
import { listManifests, publish, type Stage, verifyManifests } from "../../src/publish/index.js";
import { openStore } from "../../src/store/open.js";
import { Database } from "../../src/store/sqlite/database.js";
import { createSystemClock } from "../../src/support/clock.js";
import { ioError } from "../../src/support/errors.js";
import { faults } from "../fixtures/fault-injection.mjs";
import { administer, sharedServer } from "../postgres/server.js";
import { newPostgresStore } from "../postgres/stores.js";
import { outlive } from "./server-points.js";

export type StoreKind = "file" | "sqlite" | "postgres";
export const KEY = "site";

/** A commit of the database counts as an operation, and after a stop there are none. */
export function watchDatabases(): void {
  const { commit, tryBegin, close } = Database.prototype;
  Database.prototype.commit = function (this: Database) {
    try {
      faults.point("COMMIT", () => commit.call(this));
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code?.startsWith("E") ? ioError(error, "commit", this.path) : error;
    }
  };
  Database.prototype.tryBegin = function (this: Database) {
    faults.assertNotStopped();
    inUse.add(this);
    return tryBegin.call(this);
  };
  Database.prototype.close = function (this: Database) {
    inUse.delete(this);
    close.call(this);
  };
}

const inUse = new Set<Database>();

/** What a dead process has open is closed by the system; here somebody has to. */
export function closeDatabases(): void {
  for (const database of inUse) database.close();
}

const NO_HEART = {
  keep: ({ since, leaseMs }: Pulse): Beating => ({
    since: () => since,
    leaseMs: () => leaseMs,
    renewing: () => undefined,
    renewed: () => undefined,
    stop: () => undefined,
  }),
  close: async () => undefined,
};

export interface Scene {
  readonly dir: string;
  readonly target: string;
  readonly store: string;
  open(owner?: string): Promise<Holdfast>;
  /** Lets time go by for all clients. */
  pass(ms: number): Promise<void>;
  /** What was published so far was so by a clock that went ahead. */
  setClockBack(ms: number): Promise<void>;
  /** Whoever was stopped is dead for the others too: a server believes no death, so the leases run out. */
  mourn(): Promise<void>;
}

const LONG_MS = 240 * 3_600_000;
let server: Promise<string> | undefined;

/** One store of PostgreSQL serves all scenes of a test file: their targets differ. */
function postgresStore(): Promise<string> {
  server ??= sharedServer().then(newPostgresStore);
  return server;
}

export async function sceneAt(dir: string, kind: StoreKind): Promise<Scene> {
  mkdirSync(join(dir, "place"), { recursive: true });
  const store = {
    file: () => `file:${join(dir, "store")}`,
    sqlite: () => `sqlite:${join(dir, "store", "holdfast.db")}`,
    postgres: postgresStore,
  };
  const url = await store[kind]();
  const system = createSystemClock();
  let skewMs = 0;
  let aheadMs = 0;
  const clock = () => {
    const now = system();
    return { ...now, wallMs: now.wallMs + skewMs + aheadMs, bootMs: now.bootMs + skewMs };
  };
  return {
    dir,
    target: join(dir, "place", "out"),
    store: url,
    async open(owner = "agent:one") {
      const store = await openStore(url, {}, clock);
      const none = { ttl: undefined, wait: 0, graceMs: null, strictOrder: false };
      return new Holdfast({ store, owner, clock, heart: NO_HEART as never, ...none });
    },
    async pass(ms) {
      skewMs += ms;
      if (kind === "postgres") await administer(url, `update holdfast.grants set renewed_ms = renewed_ms - ${ms}`);
    },
    async setClockBack(ms) {
      aheadMs -= ms;
      if (kind === "postgres")
        await administer(
          url,
          `update holdfast.manifests set created_ms = created_ms + ${ms}, committed_ms = committed_ms + ${ms}
           where target = '${join(dir, "place", "out")}'`,
        );
    },
    async mourn() {
      if (kind === "postgres") await outlive(url, LONG_MS);
    },
  };
}

/** A small tree: two files by `write`, one by hand, and a folder without any. */
export function treeOf(version: string): (stage: Stage) => Promise<void> {
  return async (stage) => {
    await stage.write("version", version);
    await stage.write("sub/deep/page", `page of ${version}`);
    writeFileSync(join(stage.path, "by-hand"), version);
    mkdirSync(join(stage.path, "empty"));
  };
}

/** Which version stands at the target, whole, or null when there is none. */
export function versionAt(target: string): string | null {
  if (!existsSync(target)) return null;
  expect(readdirSync(target).sort()).toEqual(["by-hand", "empty", "sub", "version"]);
  const version = readFileSync(join(target, "version"), "utf8");
  expect(readFileSync(join(target, "by-hand"), "utf8")).toBe(version);
  expect(readFileSync(join(target, "sub/deep/page"), "utf8")).toBe(`page of ${version}`);
  return version;
}

/** Everything in the folder of the target but the target itself, an empty `tmp`, and the marks that stay there. */
export function debrisAt(target: string): string[] {
  const parent = join(target, "..");
  return readdirSync(parent, { recursive: true, encoding: "utf8" }).filter(
    (name) => name !== "tmp" && !/^(out|\.holdfast-fence)(\/(?!.*\.new$)|$)/.test(name),
  );
}

/**
 * Somebody takes the lock after whatever happened. What was left is settled by then: the target is whole, the record agrees
 * with the disk, nothing lies about, and the next publish works. Returns the version that was found.
 */
export async function expectSettled(scene: Scene, possible: readonly (string | null)[]): Promise<string | null> {
  const before = versionAt(scene.target);
  expect(possible).toContain(before);
  await scene.mourn();
  const client = await scene.open("admin:successor");
  const lease = await client.acquire(KEY);
  expect(versionAt(scene.target)).toBe(before);
  expect(await listManifests(client, { state: "pending" })).toEqual([]);
  const { target } = scene;
  expect(await verifyManifests(client, { target })).toMatchObject({
    ok: true,
    targets: before === null ? 0 : 1,
    bad: [],
  });
  expect(await client.audit.verify()).toMatchObject({ ok: true });
  await publish(lease, scene.target, treeOf("next"));
  expect(versionAt(scene.target)).toBe("next");
  expect(await verifyManifests(client, { target })).toMatchObject({ ok: true, targets: 1 });
  await lease.release();
  await client.close(); // Removing what was left ends with it.
  expect(debrisAt(scene.target)).toEqual([]);
  return before;
}

export function removeScene({ dir }: Scene): void {
  rmSync(dir, { recursive: true, force: true });
}

/** The version at the target, and the record says the same. */
export async function verifiedVersion(client: Holdfast, target: string): Promise<string | null> {
  expect(await verifyManifests(client, { target })).toMatchObject({ ok: true, bad: [] });
  return versionAt(target);
}
