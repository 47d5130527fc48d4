/** Workspaces that are made in passing or on purpose, moved, lost and removed: there is never a second store beside a first. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openHoldfast } from "../../../dist/index.js";
import { assertMayBeMade } from "../../../src/client/workspace/find-workspace.js";
import { findWorkspace } from "../../../src/features/configuration.js";
import { Folder } from "../../fixtures/client/folder.fixture.js";
import { linesOf } from "../../fixtures/command.fixture.js";

const CONCURRENTLY = { timeout: 300_000, concurrent: true };

describe("a workspace that is made in passing", () => {
  it("is made once, and said once", CONCURRENTLY, async () => {
    using folder = new Folder();
    const [one, two] = [folder.make("one"), folder.make("two")];
    const programs = [await folder.library({}, "k", { cwd: one }), await folder.library({}, "l", { cwd: one })];
    expect(programs.map(({ warnings }) => warnings)).toEqual([
      [{ code: "HOLDFAST_WORKSPACE_MADE", message: `made a workspace in ${one}, because there was none` }],
      [],
    ]);
    const commands = ["k", "l"].map((key) => run(folder, two, "lock", "acquire", key));
    expect(commands.map(({ stderr }) => stderr.split("made a workspace in").length - 1)).toEqual([1, 0]);
    for (const root of [one, two]) expect(folder.record(root).made).toBe("in_passing");
    const found = folder.record(two).id;
    await folder.command(["init"], { cwd: two });
    expect(folder.record(two)).toMatchObject({ made: "init", id: found });
  });

  it("is never made by reading", CONCURRENTLY, async () => {
    using folder = new Folder();
    const reading = ["lock list", "lock status k", "explain k", "audit list", "config show", "doctor", "issue list"];
    await Promise.all(reading.map((words) => folder.command(words.split(" "))));
    expect(existsSync(folder.at(".holdfast"))).toBe(false);
  });

  // kills: made-at-home
  it("does not appear in the home folder, which init makes one", CONCURRENTLY, async () => {
    using folder = new Folder();
    const home = folder.make("home");
    symlinkSync("home", folder.at("alias"));
    for (const HOME of [home, folder.at("alias")]) {
      const refused = { error: { code: "E_CONFIG", details: { reason: "no_workspace", path: home } } };
      expect(await folder.library({}, "k", { cwd: home, env: { HOME } })).toMatchObject(refused);
      expect(await folder.command(["lock", "acquire", "k"], { cwd: home, env: { HOME } })).toMatchObject(refused);
    }
    expect(await folder.command(["init"], { cwd: home, env: { HOME: home } })).toMatchObject({ exit: 0 });
  });

  // kills: made-in-open-folder
  it("does not appear in a folder that everyone may write, which init makes one", CONCURRENTLY, async () => {
    using folder = new Folder();
    const open = folder.make("open");
    chmodSync(open, 0o1777);
    const refused = { error: { code: "E_CONFIG", details: { reason: "no_workspace", path: open } } };
    expect(await folder.library({}, "k", { cwd: open })).toMatchObject(refused);
    expect(existsSync(join(open, ".holdfast"))).toBe(false);
    expect(await folder.command(["init"], { cwd: open })).toMatchObject({ exit: 0 });
  });

  // kills: made-in-slash
  it("does not appear in the root folder", () => {
    const found = { ...findWorkspace({ store: "memory:x" }, { cwd: "/", env: {} }), root: "/" };
    expect(() => assertMayBeMade({ ...found, sources: { ...found.sources, root: "default" } })).toThrow(
      expect.objectContaining({ code: "E_CONFIG", message: expect.stringContaining("is the root folder") }),
    );
    expect(() => assertMayBeMade({ ...found, sources: { ...found.sources, root: "argument" } })).not.toThrow();
  });

  // kills: search-nested, named-nested
  it("inside another one is refused, naming both, also when the outer one was made later", CONCURRENTLY, async () => {
    using folder = new Folder();
    const [outer, inner] = [folder.make("outer"), folder.make("outer", "inner")];
    await folder.library({}, "k", { cwd: inner });
    expect((await folder.command(["init"], { cwd: outer })).exit).toBe(0);
    const refused = {
      error: { code: "E_CONFIG", details: { reason: "nested_workspace", path: inner, around: outer } },
    };
    expect(await folder.library({}, "k", { cwd: inner })).toMatchObject(refused);
    expect(await folder.command(["lock", "list"], { cwd: folder.make("outer", "inner", "deep") })).toMatchObject(
      refused,
    );
    expect(await folder.command(["init"], { cwd: folder.make("outer", "other"), env: {} })).toMatchObject({
      data: { root: outer, created: false },
    });
    expect((await folder.command(["init", "--root", folder.at("outer", "other")])).error.details).toMatchObject({
      reason: "nested_workspace",
      around: outer,
    });
    await folder.command(["init", "--nested"], { cwd: inner });
    expect((await folder.library({}, "free", { cwd: inner })).outcome).toEqual({ free: "granted" });
    expect(folder.record(inner).made).toBe("nested");
  });

  // kills: made-by-configuration, config-marks
  it("where a configuration is, is meant to be one, also inside another one", CONCURRENTLY, async () => {
    using folder = new Folder();
    await folder.command(["init"]);
    const inner = folder.make("inner");
    folder.write("inner/holdfast.config.json", {});
    for (const key of ["one", "two"])
      expect(await folder.library({}, key, { cwd: inner })).toMatchObject({
        outcome: { [key]: "granted" },
        warnings: [],
      });
    expect(folder.record(inner).made).toBe("init");
  });

  // kills: nested-while-held
  it("does not begin inside another one while its files are held there", CONCURRENTLY, async () => {
    using folder = new Folder();
    await folder.command(["init"]);
    const inner = folder.make("inner");
    const init = () => folder.command(["init", "--nested"], { cwd: inner });
    for (const key of ["path/inner/a", "path"]) {
      await folder.command(["lock", "acquire", key]);
      expect((await init()).error).toMatchObject({
        code: "E_LOCK_CONFLICT",
        details: { resources: [key], root: inner },
      });
      await folder.command(["lock", "release", key]);
    }
    await folder.command(["lock", "acquire", "path/other", "deploy"]);
    expect((await init()).exit).toBe(0);
  });
});

describe("git", () => {
  // kills: git-exclude (workspace alone)
  it.each([
    ["", ""],
    [" in a subfolder", "sub dir"],
  ])("leaves the store of a workspace%s alone, and sees the board", CONCURRENTLY, async (_, name) => {
    using folder = new Folder();
    const top = folder.repository("r");
    const root = folder.make("r", name);
    await folder.command(["init", "--root", root]);
    await folder.command(["lock", "acquire", "k"], { cwd: root });
    rmSync(join(root, ".holdfast", ".gitignore"));
    expect(folder.git(top, "status", "--short", "-uall")).toBe("");
    for (const words of [
      ["stash", "-u"],
      ["clean", "-fdq"],
    ]) {
      folder.write("r/new", "new");
      folder.git(top, ...words);
      expect((await folder.command(["lock", "acquire", "k", "--wait", "0"], { cwd: root })).exit).toBe(75);
    }
    await folder.command(["issue", "add", "work"], { cwd: root });
    expect(folder.git(top, "status", "--short", "-uall")).toContain(".holdfast/board/");
    const exclude = readFileSync(join(top, ".git", "info", "exclude"), "utf8");
    await folder.command(["init"], { cwd: root });
    expect(readFileSync(join(top, ".git", "info", "exclude"), "utf8")).toBe(exclude);
  });

  it("whose list cannot be written is not an error", CONCURRENTLY, async () => {
    using folder = new Folder();
    const root = folder.repository("r");
    rmSync(join(root, ".git", "info"), { recursive: true });
    folder.write("r/.git/info", "not a folder");
    expect((await folder.library({}, "k", { cwd: root })).outcome).toEqual({ k: "granted" });
  });
});

const LOSSES: readonly (readonly [string, (folder: Folder) => void])[] = [
  [
    "deleted",
    (folder) => {
      for (const name of ["", "-wal", "-shm", "-turn"])
        rmSync(folder.at(".holdfast", `holdfast.db${name}`), { force: true });
    },
  ],
  [
    "emptied in place",
    (folder) => {
      for (const name of ["", "-wal"])
        if (existsSync(folder.at(".holdfast", `holdfast.db${name}`)))
          truncateSync(folder.at(".holdfast", `holdfast.db${name}`));
    },
  ],
];

describe("a recorded store that is lost", () => {
  // kills: open-expects (deleted), read-emptied (emptied)
  it.each(LOSSES)(
    "because it was %s is begun anew by init alone, with higher fences",
    CONCURRENTLY,
    async (_, lose) => {
      using folder = new Folder();
      await folder.command(["init"]);
      const before = (await folder.command(["lock", "acquire", "k"])).data.grants[0].fencing_token;
      const { id } = folder.record(folder.dir);
      lose(folder);
      for (const said of [await folder.library({}, "k"), await folder.command(["lock", "list"])])
        expect(said.error).toMatchObject({ code: "E_STORE_CORRUPT", details: { lost: expect.any(String) } });
      const { stdout, stderr } = run(folder, folder.dir, "init");
      expect(stdout + stderr).toContain("is lost, with its locks");
      expect(folder.record(folder.dir)).toMatchObject({ id, store: { id: expect.not.stringMatching(/^$/) } });
      const after = (await folder.command(["lock", "acquire", "k"])).data.grants[0].fencing_token;
      expect(after).toBeGreaterThan(before);
      expect((await folder.library({}, "k")).outcome).toEqual({ k: "refused" });
    },
  );

  it("because another one is in its place is refused, and init begins with what is there", CONCURRENTLY, async () => {
    using folder = new Folder();
    await folder.command(["init", "--root", folder.make("w")]);
    await folder.command(["init", "--store", `sqlite:${folder.at("other.db")}`, "--root", folder.make("second")]);
    const path = folder.at("w", ".holdfast", "holdfast.db");
    for (const name of ["", "-wal", "-shm", "-turn"]) rmSync(path + name, { force: true });
    renameSync(folder.at("other.db"), path);
    expect((await folder.library({}, "k", { cwd: folder.at("w") })).error).toMatchObject({
      code: "E_STORE_CORRUPT",
      details: { lost: "replaced" },
    });
    expect((await folder.command(["init"], { cwd: folder.at("w") })).exit).toBe(0);
    expect((await folder.library({}, "k", { cwd: folder.at("w") })).outcome).toEqual({ k: "granted" });
  });

  // kills: uninstall-record
  it("is not what migrate --uninstall leaves: the next opener records a new one", CONCURRENTLY, async () => {
    using folder = new Folder();
    await folder.command(["init"]);
    const other = ["--store", `file:${folder.at("other")}`];
    await folder.command(["lock", "list", ...other]);
    expect((await folder.command(["migrate", "--uninstall", ...other])).exit).toBe(0);
    expect(existsSync(folder.at(".holdfast", "workspace.json"))).toBe(true);
    expect((await folder.command(["migrate", "--uninstall"])).data.removed).toBe(true);
    expect((await folder.library({}, "k")).outcome).toEqual({ k: "granted" });
    expect((await folder.command(["lock", "acquire", "k", "--wait", "0"])).exit).toBe(75);
  });
});

describe("init --store", () => {
  // kills: record-watch, move-while-held
  it("ends leases in the earlier store, and is refused while something is held", CONCURRENTLY, async () => {
    using folder = new Folder();
    const cwd = folder.make("w");
    await folder.command(["init"], { cwd });
    const holder = folder.holder({}, "k", { cwd });
    const lines = linesOf(holder);
    expect(JSON.parse((await lines.next()).value).outcome).toEqual({ k: "granted" });
    const moving = ["init", "--store", `file:${folder.at("other")}`];
    expect(await folder.command(moving, { cwd })).toMatchObject({ exit: 75, error: { details: { resources: ["k"] } } });
    // As an opener that is granted its key just after init has looked.
    await folder.command(["init", ...moving.slice(1)], { cwd: folder.make("second") });
    const record = { ...folder.record(cwd), store: folder.record(folder.at("second")).store };
    folder.write("w/.holdfast/workspace.json", record);
    expect(JSON.parse((await lines.next()).value)).toMatchObject({
      lost: { code: "E_STORE_CORRUPT", details: { lost: "moved" } },
    });
    holder.stdin?.end();
    await once(holder, "close");
  });

  // kills: grant-recorded
  it("leaves an instance that was opened before it nothing to hold", CONCURRENTLY, async () => {
    using folder = new Folder();
    await folder.command(["init"]);
    const options = { root: folder.dir, heart: "loop" } as const;
    await using earlier = await openHoldfast(options);
    await (await earlier.acquire("before")).release();
    expect((await folder.command(["init", "--store", `file:${folder.at("other")}`])).exit).toBe(0);
    const moved = expect.objectContaining({
      code: "E_STORE_CORRUPT",
      details: expect.objectContaining({ lost: "moved" }),
    });
    await expect(earlier.acquire("k", { detached: true })).rejects.toEqual(moved);
    await new Promise((resolve) => setTimeout(resolve, 600));
    await expect(earlier.acquire("k")).rejects.toEqual(moved);
    expect(await earlier.list()).toEqual([]);
    await using later = await openHoldfast(options);
    await (await later.acquire("k")).release();
  });
});

function run(folder: Folder, cwd: string, ...words: readonly string[]) {
  const [program = "", ...rest] = folder.words(...words);
  return spawnSync(program, rest, {
    cwd,
    env: { PATH: process.env.PATH, HOME: folder.at("home") },
    encoding: "utf8",
  });
}
