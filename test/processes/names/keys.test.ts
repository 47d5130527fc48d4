/** Keys that name files in other words than their own: of linked worktrees, of jobs, and of other workspaces. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { openJobs } from "../../../src/jobs.js";
import { publish } from "../../../src/publish.js";
import { openWorktrees } from "../../../src/worktree.js";

function newFolder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-keys-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));
  return dir;
}

function git(cwd: string, ...args: readonly string[]): void {
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd, stdio: "ignore" });
}

describe("a key that was typed", () => {
  // kills: key-of-worktree-file
  it("is refused when it spells a file of a linked worktree in another way, and the message has the right one", async () => {
    const root = newFolder();
    git(root, "init", "-q");
    git(root, "commit", "-q", "--allow-empty", "-m", "first");
    git(root, "worktree", "add", "-q", join(root, "trees", "feat"));
    mkdirSync(join(root, "trees", "feat", "src"));
    symlinkSync("src", join(root, "trees", "feat", "link"));
    await using holdfast = await openHoldfast({ root, owner: "agent:one" });
    await expect(holdfast.acquire("path@feat/link/a.txt")).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
      next: ["Use path@feat/src/a.txt."],
    });
    await expect(holdfast.acquire("path/trees/feat/src/a.txt")).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    await (await holdfast.acquire("path@feat/src/a.txt", { wait: 0 })).release();
  });

  // kills: typed-link
  it("is refused where it names a link, an inner workspace or a worktree in a folder whose files were locked just now", async () => {
    const root = newFolder();
    git(root, "init", "-q");
    git(root, "commit", "-q", "--allow-empty", "-m", "first");
    mkdirSync(join(root, "src"));
    await using holdfast = await openHoldfast({ root, owner: "agent:one" });
    const refused = (key: string) =>
      holdfast.acquire(key, { wait: 0 }).then(
        () => "granted",
        ({ code }) => code,
      );
    await (await holdfast.acquire("path/src/a.txt", { wait: 0 })).release();
    symlinkSync("a.txt", join(root, "src", "to-absent"));
    writeFileSync(join(root, "src", "b.txt"), "");
    symlinkSync("b.txt", join(root, "src", "to-file"));
    git(root, "worktree", "add", "-q", join(root, "src", "feat"));
    mkdirSync(join(root, "src", "inner"));
    writeFileSync(join(root, "src", "inner", "holdfast.config.json"), "{}");
    expect(await refused("path/src/to-absent")).toBe("E_INVALID_ARGUMENT");
    expect(await refused("path/src/to-file")).toBe("E_INVALID_ARGUMENT");
    expect(await refused("path/src/feat")).toBe("E_INVALID_ARGUMENT");
    expect(await refused("path/src/inner")).toBe("E_CONFIG");
    expect(await refused("path/src/b%2Etxt")).toBe("E_INVALID_ARGUMENT");
    expect(await refused("path/src/%2E%2E")).toBe("E_INVALID_ARGUMENT");
    expect(await refused("path/src/..%2Fb.txt")).toBe("E_INVALID_ARGUMENT");
    expect(await refused("path/src/b.txt/c")).toBe("granted");
    expect(await refused("path/src/b.txt")).toBe("E_LOCK_CONFLICT");
  });

  it("of files in one folder is refused to all but one holder of each", async () => {
    const root = newFolder();
    mkdirSync(join(root, "a", "b"), { recursive: true });
    await using one = await openHoldfast({ root, owner: "agent:one" });
    await using two = await openHoldfast({ root, owner: "agent:two" });
    for (const name of ["x", "y", "x"]) {
      const lease = await one.acquire(`path/a/b/${name}`, { wait: 0 });
      await expect(two.acquire(`path/a/b/${name}`, { wait: 0 })).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
      await lease.release();
    }
  });
});

describe("a job", () => {
  // kills: job-payload
  it("that locks a worktree locks its files, and names no file in other words", async () => {
    const root = newFolder();
    mkdirSync(join(root, "data"));
    symlinkSync("data", join(root, "link"));
    await using holdfast = await openHoldfast({ root, owner: "agent:one" });
    const worktrees = await openWorktrees(holdfast, { root });
    await worktrees.trees.add("main", { path: join(root, "data") });
    const jobs = await openJobs(holdfast);
    const locks = [{ resource: "worktree:main", mode: "write" as const }];
    const job = await jobs.enqueue("k", null, { project: "p", locks });
    expect(job.locks.map(({ resource }) => resource)).toEqual(["worktree:main", "path/data"]);
    const other = [{ resource: "path/link/a", mode: "write" as const }];
    await expect(jobs.enqueue("k", null, { project: "p", locks: other })).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
      next: ["Use path/data/a."],
    });
  });
});

describe("a publish", () => {
  // kills: target-of-another
  it("into another workspace is refused, and names that workspace", async () => {
    const [here, there] = [newFolder(), newFolder()];
    await (await openHoldfast({ root: there, owner: "agent:two" })).close();
    await using holdfast = await openHoldfast({ root: here, owner: "agent:one" });
    await expect(
      publish({ holdfast, key: "site" }, join(there, "out"), (stage) => writeFileSync(join(stage.path, "a"), "a")),
    ).rejects.toMatchObject({ code: "E_CONFIG", details: { reason: "other_workspace", root: there } });
  });
});
