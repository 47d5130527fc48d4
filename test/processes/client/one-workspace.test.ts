/** Programs and commands, wherever they stand, mean one workspace and one store, or are refused by name. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, lchownSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { workspaceOfFile } from "../../../src/client/path-key.js";
import { Folder } from "../../fixtures/client/folder.fixture.js";

const CONCURRENTLY = { timeout: 300_000, concurrent: true };
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;

interface Setup {
  readonly root: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly options?: { readonly root?: string };
  /** The store that the place names. */
  readonly store?: string;
}

const PLACES: readonly (readonly [string, (folder: Folder) => Setup])[] = [
  [
    "with another store in the configuration",
    (folder) => {
      folder.write("w/holdfast.config.json", { store: "file:locks" });
      return { root: folder.at("w"), store: `file:${folder.at("w", "locks")}` };
    },
  ],
  [
    "with HOLDFAST_STORE",
    (folder) => ({
      root: folder.make("w"),
      env: { HOLDFAST_STORE: `file:${folder.at("elsewhere")}` },
      store: `file:${folder.at("elsewhere")}`,
    }),
  ],
  ["in a subfolder", (folder) => ({ root: folder.make("w"), cwd: folder.make("w", "a", "b") })],
  [
    "behind a link",
    (folder) => {
      const root = folder.make("w");
      symlinkSync("w", folder.at("link"));
      return { root, cwd: folder.at("link") };
    },
  ],
  [
    "with a root that is a link",
    (folder) => {
      const root = folder.make("w");
      symlinkSync("w", folder.at("link"));
      return { root, cwd: folder.dir, options: { root: folder.at("link") } };
    },
  ],
  [
    "with a configuration that is a link",
    (folder) => {
      const root = folder.make("w");
      folder.write("shared.json", { store: "file:locks" });
      symlinkSync("../shared.json", folder.at("w", "holdfast.config.json"));
      return { root, cwd: folder.make("w", "sub") };
    },
  ],
  [
    "in a linked worktree",
    (folder) => {
      const root = folder.repository("w");
      folder.git(root, "worktree", "add", "-q", folder.at("linked"));
      return { root, cwd: folder.make("linked", "sub") };
    },
  ],
  [
    "in a linked worktree of a repository that git knows by a link",
    (folder) => {
      const root = folder.repository("w");
      folder.git(root, "worktree", "add", "-q", folder.at("linked"));
      symlinkSync("w", folder.at("alias"));
      folder.write("linked/.git", `gitdir: ${folder.at("alias")}/.git/worktrees/linked\n`);
      return { root, cwd: folder.at("linked") };
    },
  ],
  [
    "in a nested worktree",
    (folder) => {
      const root = folder.repository("w");
      folder.git(root, "worktree", "add", "-q", ".claude/worktrees/feat");
      return { root, cwd: folder.at("w", ".claude", "worktrees", "feat") };
    },
  ],
  [
    "in a linked worktree of a submodule that is checked out in part",
    (folder) => {
      const root = folder.repository("w");
      folder.git(root, "submodule", "--quiet", "add", folder.repository("library"), "module");
      folder.git(folder.at("w", "module"), "sparse-checkout", "init");
      folder.git(folder.at("w", "module"), "worktree", "add", "-q", folder.at("linked"));
      return { root, cwd: folder.at("linked") };
    },
  ],
  [
    "in a submodule",
    (folder) => {
      const root = folder.repository("w");
      folder.git(root, "submodule", "--quiet", "add", folder.repository("library"), "module");
      return { root, cwd: folder.at("w", "module") };
    },
  ],
];

describe("a program and a command", () => {
  // kills: main-worktree-config (submodule that is checked out in part), main-behind-link (knows by a link)
  // kills: store-from-environment (HOLDFAST_STORE), store-from-config (another store in the configuration)
  // kills: search-upwards (subfolder), search-worktree (knows by a link)
  it.each(PLACES)("exclude each other %s", CONCURRENTLY, async (_, setUp) => {
    using folder = new Folder();
    const { root, cwd = root, env = {}, options = {}, store } = setUp(folder);
    const named = options.root === undefined ? [] : ["--root", options.root];
    const made = await folder.command(["init"], { cwd: root, env });
    expect(made.data).toMatchObject({ root });
    if (store !== undefined) expect(made.data.store).toBe(store);
    expect((await folder.command(["lock", "acquire", "deploy"], { cwd: root, env })).exit).toBe(0);
    const program = await folder.library(options, "deploy,free", { cwd, env });
    expect(program).toMatchObject({ store: made.data.store, outcome: { deploy: "refused", free: "granted" } });
    expect(program.settings.root.value).toBe(root);
    expect((await folder.command(["lock", "acquire", "free", "--wait", "0", ...named], { cwd, env })).exit).toBe(75);
  });

  // kills: store-from-record, wait-from-environment, settings-from-argument
  it("have the same settings from the same sources", CONCURRENTLY, async () => {
    using folder = new Folder();
    const config = { owner: "service:config", ttl: "40s", wait: "7s", order: "strict", levels: ["a", "b"] };
    folder.write("holdfast.config.json", { ...config, deployment: "single-node" });
    const env = { HOLDFAST_LOCK_TIMEOUT: "9", HOLDFAST_OWNER: "agent:env" };
    await folder.command(["init"]);
    const [shown, opened] = await Promise.all([
      folder.command(["config", "show", "--owner", "agent:library"], { env }),
      folder.library({}, "", { env }),
    ]);
    expect(opened.settings).toEqual(shown.data.settings);
    expect(shown.data.settings).toMatchObject({
      root: { value: folder.dir, source: "found" },
      store: { source: "record" },
      owner: { value: "agent:library", source: "argument" },
      ttl: { value: "40s", source: "config" },
      wait: { value: 9_000, source: "environment" },
      order: { value: "strict", source: "config" },
      levels: { value: ["a", "b"], source: "config" },
      deployment: { value: "single-node", source: "config" },
      heartbeat: { source: "default" },
    });
    expect((await folder.library({ ttl: "50s" }, "", { env })).settings.ttl).toEqual({
      value: "50s",
      source: "argument",
    });
  });
});

const REPOSITORIES: readonly (readonly [string, (folder: Folder) => { readonly root: string }])[] = [
  ["a git repository", (folder) => ({ root: folder.repository("r") })],
  [
    "a Jujutsu repository",
    (folder) => {
      folder.make("r", ".jj", "repo");
      return { root: folder.at("r") };
    },
  ],
  [
    "a Mercurial repository",
    (folder) => {
      folder.make("r", ".hg");
      return { root: folder.at("r") };
    },
  ],
  [
    "a repository and its submodule",
    (folder) => {
      const root = folder.repository("r");
      folder.git(root, "submodule", "--quiet", "add", folder.repository("library"), "one");
      return { root };
    },
  ],
  [
    "worktrees of a bare repository",
    (folder) => {
      const bare = folder.at("bare.git");
      folder.git(folder.dir, "clone", "-q", "--bare", folder.repository("origin"), bare);
      for (const name of ["one", "two"]) folder.git(bare, "worktree", "add", "-q", "-b", name, folder.at("r", name));
      return { root: bare };
    },
  ],
  [
    "a repository whose git directory lies in a folder named modules",
    (folder) => {
      folder.make("modules");
      folder.make("r");
      folder.git(folder.at("r"), "init", "-q", "--separate-git-dir", folder.at("modules", "r.git"));
      return { root: folder.at("r") };
    },
  ],
];

describe("two programs in two subfolders", () => {
  // kills: search-repository-top (git repository), search-bare-top (bare), submodule-by-name (named modules)
  it.each(REPOSITORIES)("of %s agree without init", CONCURRENTLY, async (_, setUp) => {
    using folder = new Folder();
    const { root } = setUp(folder);
    const [one, two] = [folder.make("r", "one", "deep"), folder.make("r", "two")];
    expect(await folder.library({}, "deploy", { cwd: one })).toMatchObject({ outcome: { deploy: "granted" } });
    expect(await folder.library({}, "deploy", { cwd: two })).toMatchObject({ outcome: { deploy: "refused" } });
    expect(folder.record(root)).toMatchObject({ made: "in_passing" });
  });
});

describe("a store beside the recorded one", () => {
  // kills: other-store-named, other-store-read
  it("in the environment or the configuration is refused, naming both", CONCURRENTLY, async () => {
    using folder = new Folder();
    const { store } = (await folder.command(["init"])).data;
    const other = `file:${folder.at("other")}`;
    const said = [await folder.library({}, "k", { env: { HOLDFAST_STORE: other } })];
    said.push(await folder.command(["lock", "acquire", "k"], { env: { HOLDFAST_STORE: other } }));
    said.push(await folder.command(["lock", "list"], { env: { HOLDFAST_STORE: other } }));
    folder.write("holdfast.config.json", { store: "file:other" });
    said.push(await folder.library({}, "k"), await folder.command(["lock", "list"]));
    for (const { error } of said)
      expect(error).toMatchObject({
        code: "E_CONFIG",
        details: { reason: "other_store", named: other, recorded: store },
      });
    expect(existsSync(folder.at("other"))).toBe(false);
  });

  // kills: store-from-argument, store-by-id, files-of-other-store
  it(
    "as an argument takes all keys but those of files; the recorded one is known by its id",
    CONCURRENTLY,
    async () => {
      using folder = new Folder();
      const { store } = (await folder.command(["init"])).data;
      symlinkSync(".holdfast", folder.at("spelling"));
      const keys = "path/a,path,worktree:main,deliverable:1,job:1";
      const other = await folder.library({ store: `file:${folder.at("other")}` }, keys);
      for (const key of keys.split(",").slice(0, -1))
        expect(other.outcome[key]).toMatchObject({ code: "E_CONFIG", details: { reason: "other_store", store } });
      expect(other.outcome["job:1"]).toBe("granted");
      const same = await folder.library({ store: `sqlite:${folder.at("spelling", "holdfast.db")}` }, keys);
      expect(same.outcome).toMatchObject({ "path/a": "granted", "job:1": "granted" });
      expect((await folder.command(["lock", "acquire", "path/a", "--wait", "0"])).exit).toBe(75);
    },
  );
});

describe.runIf(IS_ROOT)("a workspace of another user in a folder that everyone may write (needs root)", () => {
  // kills: search-trust, trust-of-files
  it("is refused from folders below it, and is trusted when it is named", CONCURRENTLY, async () => {
    using folder = new Folder();
    const open = folder.make("open");
    await folder.command(["init", "--root", open]);
    chmodSync(open, 0o1777);
    for (const name of ["", "workspace.json", "holdfast.db"]) chownSync(join(open, ".holdfast", name), NOBODY, NOBODY);
    const cwd = folder.make("open", "a", "b");
    const untrusted = { code: "E_CONFIG", details: { reason: "untrusted_workspace", path: open } };
    expect((await folder.library({}, "k", { cwd })).error).toMatchObject(untrusted);
    expect((await folder.command(["lock", "list"], { cwd })).error).toMatchObject(untrusted);
    expect((await folder.library({ root: open }, "k", { cwd })).outcome).toEqual({ k: "granted" });
    expect((await folder.command(["lock", "list", "--root", open], { cwd })).data.grants).toHaveLength(1);
    expect(() => workspaceOfFile("/", join(cwd, "file"))).toThrow(expect.objectContaining(untrusted));
  });

  // kills: trust-of-links
  it("is refused where a link there leads to files of the caller", CONCURRENTLY, async () => {
    using folder = new Folder();
    const own = folder.make("own");
    await folder.command(["init", "--root", own]);
    const open = folder.make("open");
    symlinkSync(join(own, ".holdfast"), join(open, ".holdfast"));
    lchownSync(join(open, ".holdfast"), NOBODY, NOBODY);
    chmodSync(open, 0o1777);
    const { error } = await folder.library({}, "k", { cwd: folder.make("open", "a") });
    expect(error).toMatchObject({ code: "E_CONFIG", details: { reason: "untrusted_workspace" } });
  });
});

describe("a worktree whose repository cannot be found", () => {
  // kills: separate-git-dir (separate), link-to-nowhere (nowhere), second-jujutsu (Jujutsu)
  // kills: root-from-environment (separate)
  it.each([
    [
      "a separate git directory",
      (folder: Folder) => {
        folder.make("r");
        folder.git(folder.at("r"), "init", "-q", "--separate-git-dir", folder.at("elsewhere"));
        folder.git(folder.at("r"), "commit", "-q", "--allow-empty", "-m", "first");
        folder.git(folder.at("r"), "worktree", "add", "-q", folder.at("linked"));
      },
    ],
    [
      "a link that leads nowhere",
      (folder: Folder) => {
        folder.write("linked/.git", `gitdir: ${folder.at("gone/.git/worktrees/linked")}\n`);
      },
    ],
    [
      "a secondary Jujutsu workspace",
      (folder: Folder) => {
        folder.write("linked/.jj/repo", folder.at("r/.jj/repo"));
      },
    ],
  ])("because of %s is refused, and works with HOLDFAST_ROOT", CONCURRENTLY, async (_, setUp) => {
    using folder = new Folder();
    setUp(folder);
    const cwd = folder.make("linked", "sub");
    const refused = { code: "E_CONFIG", details: { reason: "no_main_worktree" } };
    expect((await folder.library({}, "k", { cwd })).error).toMatchObject(refused);
    expect((await folder.command(["lock", "list"], { cwd })).error).toMatchObject(refused);
    const root = folder.make("root");
    await folder.command(["init", "--root", root]);
    expect(await folder.library({}, "k", { cwd, env: { HOLDFAST_ROOT: root } })).toMatchObject({
      outcome: { k: "granted" },
    });
  });
});

describe("a current folder", () => {
  // kills: folder-without-name
  it("whose name is not UTF-8 is refused, and no other folder is made in its place", CONCURRENTLY, async () => {
    using folder = new Folder();
    const name = Buffer.concat([Buffer.from(`${folder.dir}/f`), Buffer.from([0xff])]);
    mkdirSync(name);
    const line = `cd "$0"/f* && exec "$@"`;
    const [shown, words] = [
      spawnSync("sh", ["-c", line, folder.dir, ...folder.words("lock", "acquire", "k")]),
      readdirSync(folder.dir, "buffer"),
    ];
    expect([shown.status, shown.stderr.includes("not UTF-8")]).toEqual([78, true]);
    expect(words).toHaveLength(1);
  });

  it("that was removed is E_IO", CONCURRENTLY, () => {
    using folder = new Folder();
    folder.make("gone");
    const line = `cd "$0"/gone && rmdir ../gone && exec "$@"`;
    const { status, stderr } = spawnSync("sh", ["-c", line, folder.dir, ...folder.words("lock", "list")]);
    expect([status, String(stderr).includes("cannot find the current folder")]).toEqual([74, true]);
  });
});
