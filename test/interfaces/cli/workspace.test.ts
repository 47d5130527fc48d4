/** Finding the workspace, its configuration, and one document whatever happens. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findWorkspace } from "../../../src/features/configuration.js";
import { HoldfastError } from "../../../src/index.js";
import { openScene, type Scene } from "../../fixtures/command.fixture.js";
import { HAS_TERMINALS } from "./terminal.fixture.js";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

function place(name: string, config?: unknown): string {
  const root = join(scene.dir, name);
  mkdirSync(join(root, ".holdfast"), { recursive: true });
  if (config !== undefined) writeFileSync(join(root, "holdfast.config.json"), JSON.stringify(config));
  return root;
}

function refusal(action: () => unknown): HoldfastError {
  try {
    action();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
  }
  throw new Error("was accepted");
}

describe("CLI-1: which workspace, store and owner", () => {
  it("is no file", () => {
    const file = join(place("a-file", {}), "holdfast.config.json");
    expect(refusal(() => findWorkspace({ root: file }, { cwd: "/", env: {} })).code).toBe("E_CONFIG");
  });

  it("is the nearest folder upwards with .holdfast/, and the flag beats the environment beats the configuration", () => {
    const root = place("nested", { store: "sqlite:locks/l.db", owner: "service:config" });
    mkdirSync(join(root, "a/b"), { recursive: true });
    const env = { HOLDFAST_OWNER: "agent:env" };
    expect(findWorkspace({}, { cwd: join(root, "a/b"), env: {} })).toMatchObject({
      root,
      store: `sqlite:${root}/locks/l.db`,
      owner: "service:config",
      sources: { root: "found", store: "config", owner: "config" },
    });
    expect(findWorkspace({}, { cwd: root, env })).toMatchObject({ owner: "agent:env" });
    const said = findWorkspace({ root, owner: "agent:flag", store: "file:here" }, { cwd: "/tmp", env });
    expect(said).toMatchObject({
      owner: "agent:flag",
      store: "file:/tmp/here",
      sources: { root: "flag", store: "flag" },
    });
    const around = findWorkspace({}, { cwd: "/", env: { HOLDFAST_ROOT: root, HOLDFAST_STORE: "file:/else" } });
    expect(around).toMatchObject({ root, store: "file:/else", sources: { root: "environment", store: "environment" } });
  });

  it("needs no workspace where a store is named, and is never made in passing", () => {
    expect(findWorkspace({ store: "file:/x" }, { cwd: "/", env: {} })).toMatchObject({ root: null, store: "file:/x" });
    expect(refusal(() => findWorkspace({}, { cwd: "/", env: {} }))).toMatchObject({
      code: "E_CONFIG",
      next: ["holdfast init"],
    });
    const error = refusal(() => findWorkspace({ root: "/nowhere" }, { cwd: "/", env: {} }));
    expect(error.next).toEqual(["holdfast init --root /nowhere"]);
  });

  // kills: cli-memory-store
  it("is no store that ends with the command, wherever it is named", () => {
    const root = place("memory", { store: "memory:here" });
    for (const env of [{ HOLDFAST_STORE: "memory:x" }, {}])
      expect(refusal(() => findWorkspace({}, { cwd: root, env }))).toMatchObject({
        code: "E_CONFIG",
        message: expect.stringContaining("ends with the command"),
      });
    expect(refusal(() => findWorkspace({ store: "memory:x" }, { cwd: "/", env: {} })).code).toBe("E_CONFIG");
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

  it("is not the folder of a deliverable, which has a .holdfast/ too", () => {
    const inside = join(place("outer"), "DEL-1");
    mkdirSync(join(inside, ".holdfast"), { recursive: true });
    writeFileSync(join(inside, "_LOCK.json"), "{}");
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
    expect(Object.keys(shown)).toEqual(["root", "store", "owner", "config_file", "config", "sources"]);
    expect(shown).toMatchObject({ root, store, sources: { root: "found", store: "default", owner: "default" } });
    expect(status.profile).toBe("strict");
    expect([strict.exit, strict.error.details.field]).toEqual([64, "detached"]);
    writeFileSync(join(root, "holdfast.config.json"), JSON.stringify({ profiles: { "hand:": "lease" } }));
    expect((await scene.json(["lock", "list"], { cwd: root })).exit).toBe(78);
  });

  it("init says of a store that only this command was told of how the others find it", async () => {
    const root = join(scene.dir, "told");
    mkdirSync(root);
    const { exit, stderr } = await scene.run(["init", "--store", `file:${join(scene.dir, "apart")}`], { cwd: root });
    expect([exit, stderr]).toEqual([0, expect.stringContaining('write "store" into holdfast.config.json')]);
    const { stderr: plain } = await scene.run(["init"], { cwd: root });
    expect(plain).not.toContain("holdfast.config.json");
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
