import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { asRunProcess, findRun, runsNamedIn } from "../../../src/client/workspace/find-run.js";
import { ownerFor } from "../../../src/client/workspace/owner.js";
import {
  forgetRun,
  newRecord,
  type RegisteredRun,
  registeredRuns,
  sweepRuns,
  writeRun,
} from "../../../src/client/workspace/registered-runs.js";
import { digest, runFolder } from "../../../src/client/workspace/token-folder.js";
import { startTimeOf } from "../../../src/platform/machine.js";
import * as ancestors from "../../../src/platform/process/ancestors.js";
import { programFrom } from "../../../src/platform/process/program.js";

vi.mock("../../../src/platform/process/ancestors.js", { spy: true });

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-runs-"));
  mkdirSync(join(root, ".holdfast"));
  vi.mocked(ancestors.chainFrom).mockClear();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const here = () => asRunProcess({ pid: process.pid, startTime: startTimeOf(process.pid) ?? "" });

function run(id: string, more: Partial<RegisteredRun> = {}): RegisteredRun {
  return newRecord({
    id,
    owner: id,
    tool: "codex",
    registered_at: "2026-11-19T10:00:00.000Z",
    process: null,
    program: null,
    candidate: null,
    inherited_owner: null,
    inherited_token: null,
    around: [],
    elsewhere: [],
    told: [],
    ...more,
  });
}

describe("the run of a process", () => {
  it("is not looked for where no run is registered", () => {
    expect(findRun(root, {})).toEqual({ run: null, registered: [] });
    expect(findRun(null, {})).toEqual({ run: null, registered: [] });
    mkdirSync(runFolder(root), { recursive: true, mode: 0o700 });
    writeFileSync(join(runFolder(root), "token.json"), "{}");
    expect(findRun(root, { CODEX_THREAD_ID: "x" }).run).toBe(null);
    expect(ancestors.chainFrom).not.toHaveBeenCalled();
  });

  it("is the registered one whose process is this one or above it", () => {
    writeRun(root, run("agent:codex-a", { process: here() }));
    expect(findRun(root, {}).run?.id).toBe("agent:codex-a");
    writeRun(root, run("agent:codex-b", { process: { ...here(), startTime: "1" } }));
    writeRun(root, run("agent:codex-c", { process: { ...here(), pidNamespace: "pid:[1]" } }));
    writeRun(root, run("agent:codex-d", { process: { ...here(), bootId: "another" } }));
    expect(findRun(root, {}).run?.id).toBe("agent:codex-a");
    forgetRun(root, "agent:codex-a");
    expect(findRun(root, {}).run).toBe(null);
  });

  it("of two runs that variables name is the inner one, and none when neither was started in the other", () => {
    const [outer, inner] = [run("agent:codex-out"), run("agent:gemini-in", { around: ["agent:codex-out"] })];
    const env = { CODEX_THREAD_ID: "out", GEMINI_SESSION_ID: "in" };
    expect(runsNamedIn([outer, inner], env)).toEqual([inner]);
    for (const each of [outer, run("agent:gemini-in")]) writeRun(root, each);
    expect(findRun(root, env).run).toBe(null);
    writeRun(root, inner);
    expect(findRun(root, env).run?.id).toBe("agent:gemini-in");
  });

  it("that has no certain process counts for a day after its last event, and any for a week", () => {
    writeRun(root, run("agent:codex-quiet"));
    const path = join(runFolder(root), `run-${digest("agent:codex-quiet")}.json`);
    const ago = (hours: number): void => {
      const then = new Date(Date.now() - hours * 3_600_000);
      utimesSync(path, then, then);
    };
    ago(23);
    expect(registeredRuns(root)).toHaveLength(1);
    ago(25);
    expect(registeredRuns(root)).toEqual([]);
    sweepRuns(root);
    ago(8 * 24);
    sweepRuns(root);
    expect(() => ago(0)).toThrow("ENOENT");
  });

  it("is none where the folder of records is open to others", () => {
    writeRun(root, run("agent:codex-a", { process: here() }));
    chmodSync(runFolder(root), 0o750);
    expect(findRun(root, {}).run).toBe(null);
  });
});

describe("the owner in force", () => {
  const mine = run("agent:codex-a", { owner: "agent:seven", inherited_owner: "agent:seven" });
  const runs = { run: mine, registered: [mine, run("agent:codex-b")] };
  const config = "service:marked";

  it("comes from the argument, the environment, the run, the configuration, the user, in this order", () => {
    const env = { HOLDFAST_OWNER: "agent:env" };
    expect(ownerFor({ said: "agent:said", env, config, runs })).toMatchObject({
      owner: "agent:said",
      source: "argument",
    });
    expect(ownerFor({ said: undefined, env, config, runs })).toMatchObject({
      owner: "agent:env",
      source: "environment",
    });
    expect(ownerFor({ said: undefined, env: {}, config, runs })).toMatchObject({ owner: "agent:seven", source: "run" });
    const outside = { run: null, registered: runs.registered };
    expect(ownerFor({ said: undefined, env: {}, config, runs: outside }).source).toBe("config");
    expect(ownerFor({ said: undefined, env: {}, config: undefined, runs: outside })).toMatchObject({
      source: "default",
      run: null,
    });
    expect(ownerFor({ said: "agent:codex-b", env: {}, config, runs: outside }).owner).toBe("agent:codex-b");
    expect(ownerFor({ said: "user:ada", env: {}, config, runs: outside }).owner).toBe("user:ada");
  });

  it.each(["user:ada", "admin:ada", "agent:codex-b", "agent:codex-b/s1"])("is never %s inside another run", (name) => {
    const refused = expect.objectContaining({ code: "E_FORBIDDEN", details: { claimed: name, run: "agent:seven" } });
    expect(() => ownerFor({ said: name, env: {}, config, runs })).toThrow(refused);
    expect(() => ownerFor({ said: undefined, env: { HOLDFAST_OWNER: name }, config, runs })).toThrow(refused);
  });

  it("may be a sub-agent of the run, or a name that no run has", () => {
    for (const name of ["agent:seven/s1", "agent:codex-c", "service:ci", "job:9"])
      expect(ownerFor({ said: name, env: {}, config, runs }).owner).toBe(name);
  });

  it("is the run's where HOLDFAST_OWNER was inherited and does not name the run", () => {
    const inherited = run("agent:codex-a", { inherited_owner: "user:bob" });
    const found = ownerFor({
      said: undefined,
      env: { HOLDFAST_OWNER: "user:bob" },
      config,
      runs: { run: inherited, registered: [inherited] },
    });
    expect(found).toMatchObject({ owner: "agent:codex-a", notes: [expect.stringContaining("user:bob")] });
  });
});

describe("the program of a process", () => {
  it.each([
    [["claude"], "/home/ada/.local/share/claude/versions/2.1.327", "claude", false],
    [["claude"], "/usr/bin/node", "claude", false],
    [["node", "--max-old-space-size=4096", "/usr/lib/node_modules/.bin/gemini"], "/usr/bin/node", "gemini", false],
    [["/usr/bin/node", "/x/agent.mjs", "codex"], "/usr/bin/node", "agent", false],
    [["codex", "exec"], "/x/vendor/bin/codex", "codex", false],
    [["/bin/bash", "/usr/local/bin/claude"], "/usr/bin/bash", "bash", true],
    [["claude"], "/usr/bin/dash", "dash", true],
    [["-zsh"], null, "-zsh", true],
  ] as const)("of %j is found", (words, binary, name, isShell) => {
    const program = programFrom(words, binary);
    expect(program.names).toContain(name);
    expect(program.isShell).toBe(isShell);
    if (isShell) expect(program.path).toBe(null);
  });
});
