/** A folder with a store and a target, clients whose hearts do not beat by themselves, and what must be true there. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { Holdfast } from "../../src/lease/holdfast.js";
import { listManifests, publish, type Stage, verifyManifests } from "../../src/publish/index.js";
import { openStore } from "../../src/store/open.js";
import { Database } from "../../src/store/sqlite/database.js";
import { createSystemClock } from "../../src/support/clock.js";
import { ioError } from "../../src/support/errors.js";
import { faults } from "../fixtures/fault-injection.mjs";

export type StoreKind = "file" | "sqlite";
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
  keep: ({ since }: { since: number }) => ({ since: () => since, renewed: () => undefined, stop: () => undefined }),
  close: async () => undefined,
};

export interface Scene {
  readonly dir: string;
  readonly target: string;
  open(owner?: string): Promise<Holdfast>;
  /** Lets time go by for all clients. */
  pass(ms: number): void;
}

export function sceneAt(dir: string, kind: StoreKind): Scene {
  mkdirSync(join(dir, "place"), { recursive: true });
  const system = createSystemClock();
  let skewMs = 0;
  const clock = () => {
    const now = system();
    return { ...now, wallMs: now.wallMs + skewMs, bootMs: now.bootMs + skewMs };
  };
  return {
    dir,
    target: join(dir, "place", "out"),
    async open(owner = "agent:one") {
      const url = kind === "file" ? `file:${join(dir, "store")}` : `sqlite:${join(dir, "store", "holdfast.db")}`;
      const store = await openStore(url, {}, clock);
      const none = { ttl: undefined, wait: 0, graceMs: null, strictOrder: false };
      return new Holdfast({ store, owner, clock, heart: NO_HEART as never, ...none });
    },
    pass(ms) {
      skewMs += ms;
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
  const client = await scene.open("admin:successor");
  const lease = await client.acquire(KEY);
  expect(versionAt(scene.target)).toBe(before);
  expect(await listManifests(client, { state: "pending" })).toEqual([]);
  expect(await verifyManifests(client)).toMatchObject({ ok: true, targets: before === null ? 0 : 1, bad: [] });
  expect(await client.audit.verify()).toMatchObject({ ok: true });
  await publish(lease, scene.target, treeOf("next"));
  expect(versionAt(scene.target)).toBe("next");
  expect(await verifyManifests(client)).toMatchObject({ ok: true, targets: 1 });
  await client.close(); // Removing what was left ends with it.
  expect(debrisAt(scene.target)).toEqual([]);
  return before;
}

export function removeScene({ dir }: Scene): void {
  rmSync(dir, { recursive: true, force: true });
}

/** The version at the target, and the record says the same. */
export async function verifiedVersion(client: Holdfast, target: string): Promise<string | null> {
  expect(await verifyManifests(client)).toMatchObject({ ok: true, bad: [] });
  return versionAt(target);
}
