/** Files of equal path in several worktrees: both agents are told, once, and neither is refused. Real processes, real git. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHoldfast } from "../../../src/index.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

let dir: string;
let main: string;
let feat: string;
let late: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-both-"));
  main = join(dir, "repository");
  [feat, late] = [join(dir, "feat"), join(dir, "late")];
  mkdirSync(main);
  git("init", "-q");
  for (const name of ["a.txt", "b.txt"]) writeFileSync(join(main, name), "text\n");
  git("add", ".");
  git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "first");
  for (const folder of [feat, late]) git("worktree", "add", "-q", folder);
});
afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

function git(...args: readonly string[]): void {
  execFileSync("git", args, { cwd: main, env: { PATH: process.env.PATH, HOME: dir } });
}

function holdfast(cwd: string, args: readonly string[], input = "") {
  const env = { PATH: process.env.PATH, HOME: dir };
  return spawnSync(process.execPath, [MAIN, ...args], { cwd, input, env, encoding: "utf8" });
}

type Tool = "claude" | "codex" | "gemini" | "cursor";

/** Returns what the agent gets to read beside an answer that lets it go on. */
function told(tool: Tool, session: string, cwd: string, event: string, file: string): string {
  const name = tool === "cursor" ? { conversation_id: session, cursor_version: "3" } : { session_id: session };
  const call = { ...name, hook_event_name: event, cwd, tool_name: "Write", tool_input: { file_path: file } };
  const { status, stdout, stderr } = holdfast(cwd, ["hook", "check", tool], JSON.stringify(call));
  expect([status, stderr]).toEqual([0, expect.not.stringContaining("overlap")]);
  const answer = (stdout === "" ? {} : JSON.parse(stdout)) as {
    readonly permission?: string;
    readonly additional_context?: string;
    readonly hookSpecificOutput?: { readonly hookEventName: string; readonly additionalContext: string };
  };
  expect([undefined, "allow"]).toContain(answer.permission);
  expect([undefined, event]).toContain(answer.hookSpecificOutput?.hookEventName);
  return answer.additional_context ?? answer.hookSpecificOutput?.additionalContext ?? "";
}

const claude = (session: string, cwd: string, file: string): string =>
  told("claude", session, cwd, "PreToolUse", join(cwd, file));

interface Entry {
  readonly resource: string;
  readonly owner: string;
  readonly details: Readonly<Record<string, unknown>>;
}

async function onRecord(): Promise<readonly Entry[]> {
  await using instance = await openHoldfast({ root: main, owner: "user:test", heart: "loop" });
  return await instance.audit.list({ event: "overlap" });
}

describe("two agents that write one path in two worktrees", () => {
  // kills: overlap-told-once, overlap-on-record
  it("are told once each: the second at its write, the first at its next call", async () => {
    expect(claude("first", main, "a.txt")).toBe("");
    const second = claude("second", feat, "a.txt");
    expect(second).toContain("overlap: agent:claude-first holds a.txt in path, and you hold a.txt in path@feat");
    expect(claude("second", feat, "a.txt")).toBe("");
    expect(claude("first", main, "b.txt")).toContain("agent:claude-second holds a.txt in path@feat");
    expect(claude("first", main, "b.txt")).toBe("");
    expect(claude("third", late, "a.txt").split("\n")).toHaveLength(2);
    expect((await onRecord()).map(({ owner, resource, details }) => [owner, resource, details.other])).toEqual([
      ["agent:claude-second", "path@feat/a.txt", "path/a.txt"],
      ["agent:claude-first", "path/a.txt", "path@feat/a.txt"],
      ["agent:claude-third", "path@late/a.txt", "path/a.txt"],
      ["agent:claude-third", "path@late/a.txt", "path@feat/a.txt"],
    ]);
  });

  it("are not told of what an agent holds in its own tree, of other paths, and of what was released", () => {
    expect(claude("first", main, "a.txt")).toBe("");
    expect(claude("second", feat, "b.txt")).toBe("");
    expect(claude("first", feat, "a.txt")).toBe("");
    const end = { session_id: "first", hook_event_name: "SessionEnd", cwd: main };
    expect(holdfast(main, ["hook", "check", "claude"], JSON.stringify(end)).status).toBe(0);
    expect(claude("second", feat, "a.txt")).toBe("");
  });

  it("are told of a folder above a file, and of a file in a folder", () => {
    expect(holdfast(feat, ["lock", "acquire", "path@feat/src", "--owner", "user:u"]).status).toBe(0);
    expect(claude("first", main, "src/deep/c.txt")).toContain("user:u holds src in path@feat");
    expect(holdfast(late, ["lock", "acquire", "path@late/src/deep/c.txt", "--owner", "user:v"]).status).toBe(0);
    expect(claude("first", main, "src/deep/c.txt")).toContain("user:v holds src/deep/c.txt in path@late");
  });
});

describe("each agent tool", () => {
  const EVENTS = { claude: "PreToolUse", codex: "PostToolUse", gemini: "AfterTool", cursor: "postToolUse" } as const;
  const BEFORE = { claude: "PreToolUse", codex: "PreToolUse", gemini: "BeforeTool", cursor: "preToolUse" } as const;

  it.each(Object.keys(EVENTS) as Tool[])("shows it to the agent without a refusal: %s", (tool) => {
    const file = join(main, "a.txt");
    expect(told(tool, "first", main, BEFORE[tool], file)).toBe("");
    expect(claude("second", feat, "a.txt")).toContain("overlap");
    expect(told(tool, "first", main, EVENTS[tool], file)).toContain("agent:claude-second holds a.txt in path@feat");
    expect(told(tool, "first", main, EVENTS[tool], file)).toBe("");
  });
});

describe("holdfast overlaps", () => {
  it("lists each pair once, the earlier holder first", () => {
    expect(holdfast(main, ["init"]).status).toBe(0);
    expect(holdfast(main, ["overlaps"]).stderr).toContain("no file is held in two worktrees");
    claude("first", main, "a.txt");
    claude("second", feat, "a.txt");
    claude("second", feat, "b.txt");
    const { data } = JSON.parse(holdfast(late, ["overlaps", "--json"]).stdout) as {
      data: { overlaps: { path: string; first: Entry; second: Entry }[] };
    };
    expect(data.overlaps.map(({ path, first, second }) => [path, first.resource, second.resource])).toEqual([
      ["a.txt", "path/a.txt", "path@feat/a.txt"],
    ]);
    expect(holdfast(main, ["overlaps"]).stdout).toMatch(
      /a\.txt +agent:claude-first +path +agent:claude-second +path@feat/,
    );
  });
});

describe("lock acquire path/FILE", () => {
  // kills: worktree-remark
  it("says in a linked worktree that this is the main worktree's file, and how its own is called", () => {
    const note = "path/a.txt is the file of the main worktree; in this worktree it is path@feat/a.txt";
    expect(holdfast(feat, ["lock", "acquire", "path/a.txt", "deploy"])).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(note),
    });
    expect(holdfast(feat, ["lock", "acquire", "path@feat/a.txt"]).stderr).not.toContain("main worktree");
    expect(holdfast(main, ["lock", "acquire", "path/b.txt"]).stderr).not.toContain("main worktree");
  });
});

describe("the locks of a worktree that is gone", () => {
  // kills: gone-worktree-folder
  it("are named by lock list and lock status, whether git removed it or only its folder was deleted", () => {
    for (const [session, tree] of [
      ["first", feat],
      ["second", late],
    ] as const)
      expect(claude(session, tree, "a.txt").includes("agent:claude-first")).toBe(session === "second");
    expect(holdfast(main, ["lock", "acquire", "path@0123456789/b.txt"]).status).toBe(0);
    expect(holdfast(main, ["lock", "list"]).stderr).not.toContain("gone");
    git("worktree", "remove", "--force", feat);
    rmSync(late, { recursive: true });
    const listed = holdfast(main, ["lock", "list"]);
    expect(listed.stdout).toMatch(/path@feat\/a\.txt[\s\S]*path@late\/a\.txt/);
    for (const name of ["feat", "late"]) {
      expect(listed.stderr).toContain(`path@${name}: 1 lock of a worktree that is gone`);
      expect(holdfast(main, ["lock", "status", `path@${name}/a.txt`]).stderr).toContain("of a worktree that is gone");
    }
    expect(listed.stderr).not.toContain("path@0123456789");
  });
});
