/** Places where a folder cannot be put, and two processes that want the same one. */
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { findUnfinished, listManifests, publish, verifyManifests } from "../../../src/publish.js";
import { canMount } from "../../fixtures/can-mount.fixture.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { debrisAt } from "../../fixtures/publish/publish.fixture.js";

const AS = fileURLToPath(new URL("./publish-as-user.fixture.mjs", import.meta.url));
const MANY = fileURLToPath(new URL("./publish-many.fixture.mjs", import.meta.url));
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;
const run = promisify(execFile);

let dir: string;
let place: string;
let target: string;
let store: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-places-"));
  place = join(dir, "place");
  target = join(place, "out");
  store = `sqlite:${join(dir, "store", "holdfast.db")}`;
  for (const folder of [place, join(dir, "store")]) mkdirSync(folder);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function looking<T>(work: (holdfast: Holdfast) => Promise<T>): Promise<T> {
  const holdfast = await openHoldfast({ store, owner: "admin:looks", heart: "loop", wait: 0 });
  try {
    return await work(holdfast);
  } finally {
    await holdfast.close();
  }
}

/** Nothing of it is visible or left, and the record says so. */
async function expectNothing(): Promise<void> {
  expect(await looking((holdfast) => listManifests(holdfast, { state: "pending" }))).toEqual([]);
  expect(debrisAt(target)).toEqual([]);
}

describe("PUB-3: a parent that cannot be written", () => {
  async function publishAsOrdinaryUser(): Promise<{ ok: boolean; code?: string; hasFilled: boolean }> {
    const { stdout } = await run(process.execPath, [AS, store, target]);
    return JSON.parse(stdout) as { ok: boolean; code?: string; hasFilled: boolean };
  }

  // kills: publish-read-only
  it("an old tree with folders that cannot be written is removed all the same", async () => {
    const inner = join(target, "sealed", "inner");
    mkdirSync(inner, { recursive: true });
    writeFileSync(join(inner, "page"), "old");
    if (IS_ROOT) execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, dir]);
    chmodSync(inner, 0o000);
    chmodSync(join(target, "sealed"), 0o555);
    expect(await publishAsOrdinaryUser()).toMatchObject({ ok: true });
    await expectNothing();
  }, 60_000);

  it("is found out before anything is staged, and once it can be written the publish works", async () => {
    mkdirSync(target);
    writeFileSync(join(target, "version"), "old");
    if (IS_ROOT) for (const each of [dir, place, target, join(dir, "store")]) chownSync(each, NOBODY, NOBODY);
    chmodSync(place, 0o555);
    expect(await publishAsOrdinaryUser()).toMatchObject({ ok: false, code: "E_IO", hasFilled: false });
    expect(readFileSync(join(target, "version"), "utf8")).toBe("old");
    await expectNothing();
    chmodSync(place, 0o755);
    expect(await publishAsOrdinaryUser()).toMatchObject({ ok: true });
    expect(readFileSync(join(target, "version"), "utf8")).toBe("new");
    await expectNothing();
  }, 60_000);
});

describe.skipIf(!canMount())("PUB-1: mounts (needs the right to mount)", () => {
  const mounted: string[] = [];
  const mount = (...words: readonly string[]): void => {
    execFileSync("mount", words);
    mounted.push(words.at(-1) ?? "");
  };
  afterEach(() => {
    for (const each of mounted.splice(0).reverse()) execFileSync("umount", ["--lazy", each]);
  });

  it("a target on which another file system is mounted is refused before anything is staged", async () => {
    mkdirSync(target);
    mount("-t", "tmpfs", "none", target);
    writeFileSync(join(target, "version"), "old");
    let hasFilled = false;
    const publishing = looking((holdfast) =>
      publish({ holdfast, key: "site" }, target, () => {
        hasFilled = true;
      }),
    );
    await expect(publishing).rejects.toMatchObject({ code: "E_CROSS_DEVICE" });
    expect(hasFilled).toBe(false);
    expect(readFileSync(join(target, "version"), "utf8")).toBe("old");
    await expectNothing();
  });

  it("a folder of the same file system mounted there cannot be exchanged: told, and nothing has changed", async () => {
    for (const folder of [target, join(dir, "elsewhere")]) mkdirSync(folder);
    writeFileSync(join(dir, "elsewhere", "version"), "old");
    mount("--bind", join(dir, "elsewhere"), target);
    const publishing = looking((holdfast) =>
      publish({ holdfast, key: "site" }, target, (stage) => stage.write("version", "new")),
    );
    await expect(publishing).rejects.toMatchObject({ code: expect.stringMatching(/^E_(CROSS_DEVICE|IO)$/) });
    expect(readFileSync(join(target, "version"), "utf8")).toBe("old");
    await expectNothing();
  });

  it("what is mounted on the folder for stages after a publish went through it: told, and nothing has changed", async () => {
    const publishVersion = (version: string) =>
      looking((holdfast) => publish({ holdfast, key: "site" }, target, (stage) => stage.write("version", version)));
    await publishVersion("old");
    mount("-t", "tmpfs", "none", join(place, "tmp"));
    await expect(publishVersion("new")).rejects.toMatchObject({ code: "E_CROSS_DEVICE" });
    expect(readFileSync(join(target, "version"), "utf8")).toBe("old");
    await expectNothing();
  });

  it("a publish of which something cannot be removed stays on record, however many come after it", async () => {
    const publishOne = (holdfast: Holdfast) =>
      publish({ holdfast, key: "site" }, target, (stage) => stage.write("a", "b"));
    await looking(publishOne);
    const { manifest } = await looking(publishOne);
    const stuck = join(manifest.tmp_path, "stuck");
    mkdirSync(stuck, { recursive: true });
    mount("-t", "tmpfs", "none", stuck);
    await looking(async (holdfast) => {
      for (let time = 0; time < 9; time += 1) await publishOne(holdfast);
      const kept = (await listManifests(holdfast)).map(({ id }) => id);
      expect(kept).toContain(manifest.id);
      expect(kept.length).toBeLessThan(10);
      const unfinished = await findUnfinished(holdfast);
      expect(unfinished.map(({ kind, manifest: { id } }) => [kind, id])).toEqual([["stage_left", manifest.id]]);
    });
    execFileSync("umount", [mounted.pop() ?? ""]);
    await looking(publishOne);
    await expectNothing();
  });

  it("a parent that is mounted read-only is an error of the disk, and nothing is left", async () => {
    mount("--bind", place, place);
    execFileSync("mount", ["-o", "remount,ro,bind", place]);
    const publishing = looking((holdfast) => publish({ holdfast, key: "site" }, target, () => undefined));
    await expect(publishing).rejects.toMatchObject({ code: "E_IO", details: { errno: "EROFS" } });
    await expectNothing();
  });
});

it("PUB-1: the folder for stages may go between two publishes of a process", async () => {
  await looking(async (holdfast) => {
    for (const version of ["one", "two"]) {
      await publish({ holdfast, key: "site" }, target, (stage) => stage.write("version", version));
      expect(readFileSync(join(target, "version"), "utf8")).toBe(version);
      rmSync(join(place, "tmp"), { recursive: true });
    }
  });
  await expectNothing();
});

// kills: publish-around-workspace, publish-own-folder
it("PUB-1: a workspace, a folder in or around it, and one the locks are kept in are not replaced", async () => {
  mkdirSync(join(target, ".holdfast"), { recursive: true });
  for (const path of [target, join(target, ".holdfast", "board"), join(dir, "store"), dir])
    await looking(async (holdfast) => {
      const publishing = publish({ holdfast, key: "site" }, path, () => expect.unreachable());
      await expect(publishing).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "target" } });
    });
  await looking(async (holdfast) => {
    const around = join(dir, "around");
    const workspace = join(around, "workspace");
    mkdirSync(workspace, { recursive: true });
    for (const path of [workspace, around]) {
      const publishing = publish({ holdfast, key: "site" }, path, () => expect.unreachable(), { workspace });
      await expect(publishing).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "target" } });
    }
    await publish({ holdfast, key: "site" }, join(around, "work"), () => undefined, { workspace });
  });
  await expectNothing();
});

describe("PUB-3: publishers at once", () => {
  it.each(["sqlite", "postgres"])(
    "two processes take turns on %s: each publish is whole and on record",
    async (kind) => {
      if (kind === "postgres") store = await newPostgresStore(await sharedServer());
      const names = ["left", "right"];
      const ended = await Promise.all(names.map((name) => run(process.execPath, [MANY, store, target, name, "6"])));
      const told = ended.flatMap(({ stdout }) =>
        stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as { version: string; id: string }),
      );
      await looking(async (holdfast) => {
        const manifests = await listManifests(holdfast);
        const ids = told.map(({ id }) => id);
        for (const { id, state } of manifests) expect([ids.includes(id), state]).toEqual([true, "committed"]);
        expect(new Set(ids).size).toBe(12);
        expect(await verifyManifests(holdfast)).toMatchObject({ ok: true, targets: 1 });
        expect(await holdfast.audit.verify()).toMatchObject({ ok: true });
      });
      const version = readFileSync(join(target, "version"), "utf8");
      expect(["left-6", "right-6"]).toContain(version);
      for (const page of ["sub/page", "sub/deep/page"]) expect(readFileSync(join(target, page), "utf8")).toBe(version);
      await expectNothing();
    },
    120_000,
  );
});
