/** Finding the workspace, its configuration, and one document whatever happens. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findWorkspace } from "../../../src/features/configuration.js";
import { HoldfastError } from "../../../src/index.js";
import { openScene, type Scene } from "../../fixtures/command.fixture.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";
import { HAS_TERMINALS } from "./terminal.fixture.js";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

function place(name: string, config?: object): string {
  return markWorkspace(join(scene.dir, name), config);
}

function refusal(action: () => unknown): HoldfastError {
  try {
    action();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
  }
  throw new Error("was accepted");
}

describe("the workspace, store and owner in force", () => {
  // kills: root-is-there
  it("a root that is a file, or not there, is refused by name", () => {
    const file = join(place("a-file"), "holdfast.config.json");
    for (const root of [file, "/nowhere"])
      expect(refusal(() => findWorkspace({ root }, { cwd: "/", env: {} }))).toMatchObject({
        code: "E_INVALID_ARGUMENT",
        message: `root: ${root} is not a folder`,
      });
    expect(refusal(() => findWorkspace({}, { cwd: "/", env: { HOLDFAST_ROOT: "/nowhere" } })).code).toBe("E_CONFIG");
  });

  it("an argument is stronger than the environment, and that than the configuration", () => {
    const root = place("nested", { store: "sqlite:locks/l.db", owner: "service:config", wait: "1s" });
    mkdirSync(join(root, "a/b"), { recursive: true });
    const env = { HOLDFAST_OWNER: "agent:env" };
    expect(findWorkspace({}, { cwd: join(root, "a/b"), env: {} })).toMatchObject({
      root,
      store: `sqlite:${root}/locks/l.db`,
      owner: "service:config",
      sources: { root: "found", store: "config", owner: "config" },
    });
    expect(findWorkspace({}, { cwd: root, env })).toMatchObject({ owner: "agent:env" });
    const said = findWorkspace({ root, owner: "agent:flag", store: "file:here", wait: "3s" }, { cwd: "/tmp", env });
    expect(said).toMatchObject({
      owner: "agent:flag",
      store: "file:/tmp/here",
      config: { wait: "3s" },
      sources: { root: "argument", store: "argument", wait: "argument" },
    });
    const variables = { HOLDFAST_ROOT: root, HOLDFAST_STORE: "file:/else", HOLDFAST_LOCK_TIMEOUT: "2" };
    expect(findWorkspace({}, { cwd: "/", env: variables })).toMatchObject({
      root,
      store: "file:/else",
      config: { wait: 2_000 },
      sources: { root: "environment", store: "environment", wait: "environment" },
    });
  });

  // kills: relative-environment (HOLDFAST_ROOT)
  it.each([
    ["HOLDFAST_ROOT", "here"],
    ["HOLDFAST_STORE", "file:locks"],
    ["HOLDFAST_STORE", "sqlite:./x.db"],
  ])("a relative path in %s is refused: %s", (name, value) => {
    expect(refusal(() => findWorkspace({}, { cwd: scene.root, env: { [name]: value } }))).toMatchObject({
      code: "E_CONFIG",
      details: { reason: "relative_path", field: name },
    });
  });

  it("a named store needs no workspace, and a search makes none", () => {
    expect(findWorkspace({ store: "file:/x" }, { cwd: "/", env: {} })).toMatchObject({ root: null, store: "file:/x" });
    expect(findWorkspace({}, { cwd: "/", env: {} })).toMatchObject({ root: "/", isThere: false });
  });

  // kills: cli-memory-store
  it("a command refuses a store that ends with it, wherever it is named", async () => {
    const root = place("memory", { store: "memory:here" });
    const answers = await Promise.all([
      scene.json(["lock", "list"], { cwd: root }),
      scene.json(["lock", "list"], { env: { HOLDFAST_STORE: "memory:x" } }),
      scene.json(["lock", "list", "--store", "memory:x"]),
    ]);
    for (const { error } of answers)
      expect(error).toMatchObject({ code: "E_CONFIG", message: expect.stringContaining("ends with the command") });
  });

  it("tells that a wrong name of an owner is in the environment, and that a store has no place", () => {
    const [store, env] = ["file:/x", { HOLDFAST_OWNER: "bob" }];
    expect(refusal(() => findWorkspace({ store }, { cwd: "/", env })).message).toMatch(/^HOLDFAST_OWNER: "bob" is no /);
    expect(refusal(() => findWorkspace({ store, owner: "bob" }, { cwd: "/", env })).message).toMatch(/^owner: "bob"/);
    for (const url of ["sqlite:", "file:"])
      expect(refusal(() => findWorkspace({ store: url }, { cwd: "/", env: {} }))).toMatchObject({ code: "E_CONFIG" });
  });

  it("has a configuration also where an editor has put a byte order mark before it", () => {
    const root = place("marked");
    writeFileSync(join(root, "holdfast.config.json"), '\uFEFF{"owner":"service:marked"}');
    expect(findWorkspace({ root }, { cwd: "/", env: {} }).owner).toBe("service:marked");
  });

  it("a folder with .holdfast/ alone is not a workspace: a deliverable has one too", () => {
    const inside = join(place("outer"), "DEL-1");
    mkdirSync(join(inside, ".holdfast"), { recursive: true });
    expect(findWorkspace({}, { cwd: inside, env: {} }).root).toBe(join(scene.dir, "outer"));
  });

  it.each([
    [{ colour: "red" }, "colour is no field"],
    [{ ttl: "soon" }, "ttl is to be a duration"],
    [{ levels: ["a", "a"] }, "levels"],
    [{ profiles: { x: "eager" } }, "profiles"],
    [{ order: "random" }, "order is to be free or strict"],
    [{ owner: "me" }, "owner"],
    [{ store: 3 }, "store is to be text"],
    [[], "is to be a JSON object"],
  ])("refuses the configuration %j, naming the field", (config, message) => {
    const root = place("bad", config);
    const error = refusal(() => findWorkspace({ root }, { cwd: "/", env: {} }));
    expect([error.code, error.message.includes(message), error.message]).toEqual(["E_CONFIG", true, error.message]);
  });
});

describe("set-up commands", () => {
  it("init makes a workspace once and records its settings", async () => {
    const root = join(scene.dir, "fresh");
    mkdirSync(root);
    writeFileSync(join(root, "holdfast.config.json"), JSON.stringify({ profiles: { "hand:": "strict" } }));
    const store = `sqlite:${root}/.holdfast/holdfast.db`;
    expect(await scene.data(["init"], { cwd: root })).toEqual({ root, store, created: true });
    const [again, shown, status, strict] = await Promise.all([
      scene.data(["init"], { cwd: root }),
      scene.data(["config", "show"], { cwd: root }),
      scene.data(["lock", "status", "hand:1"], { cwd: root }),
      scene.json(["lock", "acquire", "hand:1"], { cwd: root }),
    ]);
    expect(again.created).toBe(false);
    expect(Object.keys(shown)).toEqual(["root", "store", "owner", "config_file", "settings", "notes"]);
    expect(shown.settings).toMatchObject({
      root: { value: root, source: "found" },
      store: { value: store, source: "record" },
      owner: { source: "default" },
      ttl: { value: "30s", source: "default" },
      profiles: { value: { "hand:": "strict" }, source: "config" },
    });
    expect(status.profile).toBe("strict");
    expect([strict.exit, strict.error.details.field]).toEqual([64, "detached"]);
    writeFileSync(join(root, "holdfast.config.json"), JSON.stringify({ profiles: { "hand:": "lease" } }));
    expect((await scene.json(["lock", "list"], { cwd: root })).exit).toBe(78);
  });

  it("init records the store that it was given, and moves to another one while nothing is held", async () => {
    const root = join(scene.dir, "told");
    mkdirSync(root);
    const [first, second] = ["one", "two"].map((name) => `file:${join(scene.dir, name)}`);
    const init = (...words: string[]) => scene.json(["init", ...words], { cwd: root });
    expect((await init("--store", first ?? "")).data).toMatchObject({ created: true, store: first });
    await scene.data(["lock", "acquire", "deploy"], { cwd: root });
    expect((await scene.data(["lock", "list", "--store", first ?? ""], { cwd: "/" })).grants).toHaveLength(1);
    const refused = await init("--store", second ?? "");
    expect([refused.exit, refused.error.details.resources]).toEqual([75, ["deploy"]]);
    await scene.data(["lock", "release", "deploy"], { cwd: root });
    expect((await init("--store", second ?? "")).data).toMatchObject({ created: false, store: second });
    expect((await scene.data(["config", "show"], { cwd: root })).settings.store).toEqual({
      value: second,
      source: "record",
    });
  });

  it("looking creates nothing: no workspace is told, no store is free", async () => {
    const root = place("empty", { profiles: { "a:": "lease" } });
    const cwd = { cwd: root };
    const answers = await Promise.all([
      scene.data(["lock", "status", "a:1"], cwd),
      scene.data(["lock", "list"], cwd),
      scene.data(["explain", "a:1"], cwd),
      scene.data(["audit", "list"], cwd),
      scene.data(["audit", "verify"], cwd),
      scene.data(["lease", "status", "gates"], cwd),
      scene.data(["migrate", "--dry-run"], cwd),
      scene.json(["lock", "status", "a:1"], { cwd: "/" }),
    ]);
    expect(answers[0]).toEqual({
      resource: "a:1",
      state: "free",
      grants: [],
      waiters: [],
      fencing_token: 0,
      profile: "lease",
      permits: null,
    });
    expect(answers[1]).toEqual({ grants: [], next: null });
    expect(answers[2]).toMatchObject({ resource: "a:1", holders: [], line: [], history: [] });
    expect(answers[3]).toEqual({ entries: [], next: null });
    expect(answers[4]).toEqual({ ok: true, chains: 0, entries: 0, bad: [] });
    expect(answers[5].lease.state).toBe("free");
    expect(answers[6].applied).toBe(false);
    expect(answers[6].migrations[0]).toMatchObject({ version: 1 });
    expect([answers[7].exit, answers[7].error.next]).toEqual([78, ["holdfast init"]]);
    expect(readdirSync(join(root, ".holdfast"))).toEqual([]);
  });

  // kills: uninstall-while-held
  it.each(["sqlite", "file"])(
    "STORE-5: migrate shows, applies and takes away, but not while something is held (%s)",
    async (kind) => {
      const root = place(`migrate-${kind}`, { store: `${kind}:store` });
      const cwd = { cwd: root };
      const done = await scene.data(["migrate"], cwd);
      expect(done.applied).toBe(true);
      expect(done.migrations[0]).toMatchObject({ version: 1 });
      expect(await scene.data(["migrate", "--dry-run"], cwd)).toMatchObject({ applied: false, migrations: [] });
      await scene.data(["lock", "acquire", "held"], cwd);
      const refused = await scene.json(["migrate", "--uninstall"], cwd);
      expect([refused.exit, refused.error.details.resources]).toEqual([75, ["held"]]);
      expect((await scene.data(["lock", "status", "held"], cwd)).state).toBe("held");
      await scene.data(["lock", "release", "held"], cwd);
      expect(await scene.data(["migrate", "--uninstall"], cwd)).toMatchObject({ removed: true });
      expect(existsSync(join(root, kind === "file" ? "store/store.json" : "store"))).toBe(false);
      expect(await scene.data(["migrate", "--uninstall"], cwd)).toMatchObject({ removed: false });
    },
  );
});

describe("CLI-2: one document, whatever happens", () => {
  it("for help, version, usage errors and unknown commands", async () => {
    const [help, all, version, usage, unknown] = await Promise.all([
      scene.data(["lock", "status", "--help"]),
      scene.data([]),
      scene.data(["--version"]),
      scene.json(["lock", "acquire"]),
      scene.json(["frobnicate", "x"]),
    ]);
    expect(help.help).toMatchObject({ name: "lock status", usage: "holdfast lock status KEY" });
    expect(all.commands.length).toBeGreaterThan(20);
    expect(version.version).toMatch(/^\d+\.\d+\.\d+/);
    expect([usage.exit, usage.command, usage.error.code]).toEqual([64, "lock acquire", "E_INVALID_ARGUMENT"]);
    expect([unknown.exit, unknown.command, unknown.error.code]).toEqual([64, "frobnicate x", "E_INVALID_ARGUMENT"]);
  });

  it("for a bug, with exit code 70", async () => {
    const preload = join(scene.dir, "bug.cjs");
    writeFileSync(preload, `require("node:fs").statSync = () => { throw new TypeError("a bug"); };`);
    const bug = await scene.json(["lock", "status", "a"], { preload });
    expect([bug.exit, bug.ok, bug.error.code, bug.error.message]).toEqual([70, false, "E_INTERNAL", "a bug"]);
    const { exit, stdout, stderr } = await scene.run(["lock", "status", "a"], { preload });
    expect([exit, stdout, stderr.includes("This is a bug in holdfast")]).toEqual([70, "", true]);
  });

  it.each([
    ["config", "show"],
    ["config", "show", "--json"],
    ["lock", "acquire", "a b", "--json"],
  ])("%s %s %s: says so on stderr when standard output takes nothing", (...words) => {
    const line = `exec "$0" "$@" > /dev/full`;
    const { exit, stderr } = scene.inShell(line, words);
    expect([exit, stderr.startsWith("holdfast: ")]).toEqual([words.length === 4 ? 64 : 74, true]);
  });

  it.runIf(HAS_TERMINALS)(
    "CLI-5: what others have written does not draw on the terminal (needs bash and script)",
    async () => {
      await scene.data(["issue", "add", "a\u001b[2Jb\u009bc\bd\u202ee"]);
      const { stdout } = scene.inShell(`exec script -qec "'$0' '$1' issue list" /dev/null`, []);
      expect(stdout).toContain("a␛[2Jb\ufffdc␈d\ufffde");
      expect((await scene.run(["issue", "list"])).stdout, "elsewhere it is as it is").toContain(
        "a\u001b[2Jb\u009bc\bd",
      );
    },
  );

  it.runIf(HAS_TERMINALS)(
    "CLI-5: whoever waits before a terminal is told for what (needs bash and script)",
    async () => {
      const { issue } = await scene.data(["issue", "add", "Slow"]);
      await scene.run(["gate", "add", "slow", "--", "sleep", "1"]);
      await scene.data(["issue", "update", issue.id, "--add-gate", "slow"]);
      await scene.data(["lock", "acquire", "slow", "--owner", "agent:slow"]);
      const on = (words: string): string => scene.inShell(`exec script -qec "'$0' '$1' ${words}" /dev/null`, []).stdout;
      expect(on(`issue wait ${issue.id} --wait 1s`)).toContain(
        `waiting for issue ${issue.id} to be closed (Ctrl-C stops)`,
      );
      expect(on(`gate wait ${issue.id} slow --wait 1s`)).toContain("waiting for gate slow of issue");
      expect(on(`gate run ${issue.id} slow`)).toContain("gate slow is running;");
      expect(on("run slow --wait 1s -- true")).toContain(
        "waiting for slow: agent:slow holds it, 15 min left (Ctrl-C stops)",
      );
      expect(on("run quick -- sleep 1"), "what it runs has the terminal").toBe("");
    },
  );

  it("completion scripts name every command; bash completes", async () => {
    const [bash, fish] = await Promise.all([scene.run(["completion", "bash"]), scene.run(["completion", "fish"])]);
    expect(fish.stdout).toContain("-a acquire");
    const complete = (line: string): string[] => {
      const words = line.split(" ");
      const list = words.map((word) => `'${word}'`).join(" ");
      const script = `${bash.stdout}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return spawnSync("bash", ["-c", script], { encoding: "utf8" }).stdout.trim().split("\n");
    };
    expect(complete("holdfast lo")).toEqual(["lock"]);
    expect(complete("holdfast lock re")).toEqual(["renew", "release"]);
    expect(complete("holdfast lock acquire a --mo")).toEqual(["--mode"]);
    expect(complete("holdfast lock acquire a --mode ")).toEqual(["read", "upgradeable", "write"]);
    expect(complete("holdfast explain a --hi")).toEqual(["--history"]);
    expect(complete("holdfast completion z")).toEqual(["zsh"]);
    expect(complete("holdfast issue gate ")).toEqual(["pass", "fail"]);
    expect(complete("holdfast issue de")).toEqual(["dep"]);
    expect(complete("holdfast issue gate pass 1 tests --no")).toEqual(["--note", "--no-color"]);
    expect(complete("holdfast --root /srv lock sta")).toEqual(["status"]);
    expect(complete("holdfast --owner agent : 7 lock sta"), "bash breaks words at a colon").toEqual(["status"]);
    expect(complete("holdfast run deploy -- l"), "names of files are the shell's").toEqual([""]);
  });
});
