/** A sandbox that lets a process write its linked worktree only, while the store lies in the main worktree. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { canMount } from "../../fixtures/can-mount.fixture.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

// kills: sandbox-of-worktree
it.skipIf(!canMount())(
  "a command that writes names the folder that the sandbox must allow, and one that reads works (needs mount)",
  async () => {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-sandbox-")));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const [main, worktree] = [join(dir, "main"), join(dir, "worktree")];
    mkdirSync(main);
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
        cwd: main,
        stdio: "ignore",
      });
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "first");
    git("worktree", "add", "-q", worktree);
    await (await openHoldfast({ root: main, owner: "user:test" })).close();
    const inSandbox = (...words: string[]) => {
      const line = `mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && shift 0 && exec "$@"`;
      const command = ["-m", "sh", "-c", line, main, process.execPath, MAIN, ...words, "--json"];
      const { status, stdout } = spawnSync("unshare", command, { cwd: worktree, encoding: "utf8" });
      return { status, ...(JSON.parse(stdout) as { error?: { code: string; next: string[] } }) };
    };
    expect(inSandbox("lock", "acquire", "k")).toMatchObject({
      status: 74,
      error: { code: "E_IO", next: [expect.stringContaining(`Let this process write ${join(main, ".holdfast")}`)] },
    });
    expect(inSandbox("lock", "list").status).toBe(0);
  },
);
