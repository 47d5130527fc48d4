/** Hooks of agents that work in linked worktrees, and that write files of other workspaces: real processes, real git. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHoldfast } from "../../../src/index.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

let dir: string;
let repository: string;
let nested: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-worlds-"));
  repository = newRepository("repository");
  nested = join(repository, ".claude", "worktrees", "feat");
  git(repository, "worktree", "add", "-q", nested);
});
afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

function newRepository(name: string): string {
  const root = join(dir, name);
  mkdirSync(root);
  git(root, "init", "-q");
  writeFileSync(join(root, "a.txt"), "a\n");
  git(root, "add", "a.txt");
  git(root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "first");
  return root;
}

function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync("git", args, { cwd, encoding: "utf8", env: { PATH: process.env.PATH, HOME: dir } });
}

interface Said {
  readonly exit: number | null;
  readonly stderr: string;
}

/** One call of the hook of Claude Code, as an agent in this folder makes it. */
function hook(session: string, cwd: string, call: Readonly<Record<string, unknown>>): Said {
  const { PATH } = process.env;
  const { status, stderr } = spawnSync(process.execPath, [MAIN, "hook", "check", "claude"], {
    cwd,
    input: JSON.stringify({ hook_event_name: "PreToolUse", session_id: session, cwd, ...call }),
    env: { PATH, HOME: dir, CLAUDE_PROJECT_DIR: cwd },
    encoding: "utf8",
  });
  return { exit: status, stderr };
}

function write(session: string, cwd: string, path: string): Said {
  return hook(session, cwd, { tool_name: "Write", tool_input: { file_path: path, content: "" } });
}

function shell(session: string, cwd: string, command: string): Said {
  return hook(session, cwd, { tool_name: "Bash", tool_input: { command } });
}

async function held(root: string): Promise<string[]> {
  await using holdfast = await openHoldfast({ root, owner: "user:test", heart: "loop" });
  return (await holdfast.list()).map(({ resource }) => resource).sort();
}

describe("an agent in a linked worktree", () => {
  it("shares one store with the main worktree, and a file has one lock wherever its writer works", async () => {
    expect(write("inside", nested, join(nested, "a.txt")).exit).toBe(0);
    expect(existsSync(join(nested, ".holdfast"))).toBe(false);
    expect(await held(repository)).toEqual(["path@feat/a.txt"]);
    const other = write("outside", repository, join(nested, "a.txt"));
    expect([other.exit, other.stderr.includes("path@feat/a.txt is not free")]).toEqual([2, true]);
  });

  it("may edit the file that another one edits in the main worktree", async () => {
    expect(write("main", repository, join(repository, "a.txt")).exit).toBe(0);
    expect(write("inside", nested, join(nested, "a.txt")).exit).toBe(0);
    expect(await held(repository)).toEqual(["path/a.txt", "path@feat/a.txt"]);
  });

  it("is not in the way of git checkout in the main worktree, and is in its own", () => {
    expect(write("inside", nested, join(nested, "a.txt")).exit).toBe(0);
    for (const command of ["git checkout main", "git stash", "git pull", `git -C ${repository} reset --hard`])
      expect([command, shell("main", repository, command).exit]).toEqual([command, 0]);
    for (const command of [`git -C ${nested} checkout main`, `cd ${nested} && git stash`])
      expect([command, shell("main", repository, command).exit]).toEqual([command, 2]);
  });

  // kills: hook-worktree-below
  it("keeps its worktree from being removed or moved by another one", () => {
    expect(write("inside", nested, join(nested, "a.txt")).exit).toBe(0);
    for (const command of [`rm -rf ${nested}`, "rm -rf .claude/worktrees", `mv .claude ${join(dir, "elsewhere")}`])
      expect([command, shell("main", repository, command).exit]).toEqual([command, 2]);
    expect(shell("inside", nested, "true").exit).toBe(0);
  });
});

describe("an agent that writes the lock of a deliverable folder", () => {
  // kills: hook-lock-file
  it("is refused, and one that writes the lock file of another program is not", () => {
    mkdirSync(join(repository, "DEL-1"));
    expect(write("main", repository, join(repository, "DEL-1", "_LOCK.json"))).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("the lock of a deliverable folder"),
    });
    writeFileSync(join(repository, "DEL-1", "_LOCK.json"), '{"locked_by":"another program"}');
    expect(write("main", repository, join(repository, "DEL-1", "_LOCK.json")).exit).toBe(0);
  });
});

describe("an agent that writes a file of another workspace", () => {
  it("is checked there, and its locks there end with its session", async () => {
    const other = newRepository("other");
    await (await openHoldfast({ root: other, owner: "user:other" })).close();
    expect(write("here", repository, join(other, "a.txt")).exit).toBe(0);
    expect(write("here", repository, join(repository, "a.txt")).exit).toBe(0);
    expect(await held(other)).toEqual(["path/a.txt"]);
    expect(write("there", other, join(other, "a.txt")).exit).toBe(2);
    expect(shell("third", repository, `cd ${other} && git reset --hard -q`).exit).toBe(2);
    expect(hook("here", repository, { hook_event_name: "SessionEnd" }).exit).toBe(0);
    expect(await held(other)).toEqual([]);
  });

  // kills: hook-all-or-none
  it("gets the files of all workspaces, or none", async () => {
    const other = newRepository("other");
    await (await openHoldfast({ root: other, owner: "user:other" })).close();
    const last = newRepository("zlast");
    await using theirs = await openHoldfast({ root: last, owner: "user:other" });
    await theirs.acquire("path/a.txt");
    const command = `cp x ${join(other, "a.txt")} && cp x ${join(last, "a.txt")} && cp x a.txt`;
    expect(shell("here", repository, command).exit).toBe(2);
    expect([await held(other), await held(repository)]).toEqual([[], []]);
  });

  it("is free to write where there is no workspace, and to use git there", () => {
    const elsewhere = newRepository("elsewhere");
    expect(write("main", repository, join(elsewhere, "a.txt")).exit).toBe(0);
    expect(shell("main", repository, `git -C ${elsewhere} checkout main`).exit).toBe(0);
    expect(existsSync(join(elsewhere, ".holdfast"))).toBe(false);
  });

  it("needs the tree that its git command names, and no other, in whatever way it names it", async () => {
    const [free, busy] = [newRepository("free"), newRepository("busy")];
    await (await openHoldfast({ root: repository, owner: "user:other" })).close();
    expect(write("other", repository, join(repository, "a.txt")).exit).toBe(0);
    await using theirs = await openHoldfast({ root: busy, owner: "user:other" });
    await theirs.acquire("path/a.txt");
    const ways = (tree: string): string[] => [
      `git -C ${tree} checkout main`,
      `git --git-dir=${tree}/.git --work-tree=${tree} checkout main`,
      `git --git-dir ${tree}/.git --work-tree ${tree} reset --hard`,
      `GIT_DIR=${tree}/.git GIT_WORK_TREE=${tree} git stash`,
      `cd ${tree} && git reset --hard`,
    ];
    for (const command of ways(free)) expect([command, shell("main", repository, command).exit]).toEqual([command, 0]);
    for (const command of [...ways(busy), ...ways(repository), `GIT_DIR=${free}/.git git reset --hard`])
      expect([command, shell("main", repository, command).exit]).toEqual([command, 2]);
    expect(existsSync(join(free, ".holdfast"))).toBe(false);
  });

  it("in a folder that git takes for the tree of GIT_DIR, changes that folder", () => {
    const [other, here] = [newRepository("other"), join(dir, "plain")];
    mkdirSync(here);
    writeFileSync(join(here, "a.txt"), "mine\n");
    execFileSync("git", ["reset", "-q", "--hard"], {
      cwd: here,
      env: { PATH: process.env.PATH, GIT_DIR: join(other, ".git") },
    });
    expect(readFileSync(join(here, "a.txt"), "utf8")).toBe("a\n");
  });
});

describe("a command of git that sweeps files away", () => {
  beforeEach(async () => {
    await (await openHoldfast({ root: repository, owner: "user:other" })).close();
  });

  // kills: hook-sweeps-store
  it("is refused where it reaches the store, and runs where it does not", () => {
    for (const command of [
      "git clean -fdx",
      "git clean -fX",
      "git stash -a",
      "git stash push --all",
      "cd x; git clean -xf $A",
    ])
      expect([command, shell("main", repository, command)]).toEqual([
        command,
        { exit: 2, stderr: expect.stringContaining("it takes .holdfast/ away, where the locks are") },
      ]);
    const harmless = [
      "git clean -fd",
      "git stash -u",
      "git clean -ndx",
      "git clean -fdx build",
      "git clean -fdx -e .holdfast",
    ];
    for (const command of [...harmless, `git -C ${nested} clean -fdx`])
      expect([command, shell("main", repository, command)]).toMatchObject([command, { exit: 0 }]);
  });

  // kills: hook-sweeps-board
  it("is refused while the board has files that git does not track", () => {
    const board = join(repository, ".holdfast", "board");
    mkdirSync(board, { recursive: true });
    writeFileSync(join(board, "issue.json"), "{}");
    for (const command of ["git clean -fd", "git stash -u", "git stash push --include-untracked"])
      expect([command, shell("main", repository, command)]).toEqual([
        command,
        { exit: 2, stderr: expect.stringContaining("Commit them first: git add .holdfast/board") },
      ]);
    for (const command of ["git stash", "git clean -fd build", "git clean -n"])
      expect([command, shell("main", repository, command).exit]).toEqual([command, 0]);
    git(repository, "add", ".holdfast/board");
    git(repository, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "the board");
    for (const command of ["git clean -fd", "git stash -u"])
      expect([command, shell("main", repository, command).exit]).toEqual([command, 0]);
  });
});

describe("a command with a pattern that fits in very many ways", () => {
  it("is answered at once, and refused for the file that another agent holds", async () => {
    for (let length = 20; length < 60; length += 1) writeFileSync(join(repository, "a".repeat(length)), "");
    await using theirs = await openHoldfast({ root: repository, owner: "user:other" });
    await theirs.acquire("path/a.txt");
    const patterns = Array.from({ length: 40 }, (_, more) => `${"*a".repeat((more % 20) + 1)}b`).join(" ");
    expect(shell("main", repository, `rm ${patterns}`).exit).toBe(0);
    expect(shell("main", repository, `rm ${patterns} a.txt`).exit).toBe(2);
  });
});
