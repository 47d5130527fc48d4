/** `init --agents`, `hook install` and `doctor hooks`, as they are typed. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
  execFileSync("git", ["init", "-q"], { cwd: scene.root });
});
afterAll(() => scene.close());

const at = (path: string): string => join(scene.root, path);

describe("init --agents", () => {
  it("writes nothing without a yes, and does not wait for one where nobody is", async () => {
    const refused = await scene.json(["init", "--agents", "--client", "codex"]);
    expect(refused).toMatchObject({ exit: 77, error: { code: "E_FORBIDDEN" } });
    expect(refused.error.next).toContain("holdfast init --agents --client codex --yes");
    const files: { path: string; diff: string }[] = refused.error.details.files;
    expect(files.map(({ path }) => path)).toEqual([
      "AGENTS.md",
      ".codex/hooks.json",
      ".codex/config.toml",
      ".worktreeinclude",
      ".git/hooks/pre-commit",
    ]);
    expect(files[1]?.diff).toContain("hook check codex");
    const dry = await scene.run(["init", "--agents", "--client", "codex", "--dry-run"]);
    expect(dry.stdout).toContain("would make AGENTS.md");
    expect(existsSync(at("AGENTS.md"))).toBe(false);
  });

  it("with --yes writes lines, hooks and the entry of the MCP server", async () => {
    const data = await scene.data(["init", "--agents", "--client", "codex", "--yes"]);
    expect(data).toMatchObject({ created: false, clients: ["codex"], written: true });
    expect(readFileSync(at(".codex/config.toml"), "utf8")).toMatch(/args = \[.*"mcp"\]/);
    expect(readFileSync(at("AGENTS.md"), "utf8")).toContain("holdfast issue next --claim");
  });
});

describe("HOOK-1: doctor hooks", () => {
  it("proves of each installed hook that a denial holds, and leaves nothing held", async () => {
    const { proofs, ok } = await scene.data(["doctor", "hooks"]);
    expect(ok).toBe(true);
    expect(proofs.map(({ client, ok: holds }: { client: string; ok: boolean }) => [client, holds])).toEqual([
      ["codex", true],
      ["codex", true],
      ["codex", true],
      ["git", true],
    ]);
    expect((await scene.data(["lock", "list"])).grants).toEqual([]);
    // It stands still while a hook waits, up to five minutes: what it holds must last for that.
    const { entries } = await scene.data(["audit", "list", "--owner", "service:doctor"]);
    expect(entries[0]).toMatchObject({ event: "granted", details: { lease_ms: 900_000 } });
  });

  it("finds a hook that lets everything pass", async () => {
    const text = readFileSync(at(".codex/hooks.json"), "utf8");
    writeFileSync(at(".codex/hooks.json"), text.replaceAll(/ hook check codex/g, " --version hook check codex"));
    const { exit, data } = await scene.json(["doctor", "hooks"]);
    expect(exit).toBe(78);
    expect(data.proofs.filter(({ ok }: { ok: boolean }) => !ok)).toMatchObject([
      { client: "codex", check: expect.stringContaining("somebody else holds") },
      { client: "codex", check: expect.stringContaining("cannot be understood") },
    ]);
    writeFileSync(at(".codex/hooks.json"), text);
  });

  it("does not call it proven where no hook is installed", async () => {
    for (const client of ["codex", "git"]) await scene.data(["hook", "install", client, "--uninstall"]);
    expect(existsSync(at(".git/hooks/pre-commit"))).toBe(false);
    expect(await scene.json(["doctor", "hooks"])).toMatchObject({ exit: 78, error: { code: "E_CONFIG" } });
  });
});

describe("the hook of git", () => {
  // kills: git-is-not-there
  it("says so where there is no repository, and where there is no git", async () => {
    const outside = await openScene();
    onTestFinished(() => outside.close());
    const none = await outside.json(["hook", "check", "git"]);
    expect(none).toMatchObject({ exit: 78, error: { code: "E_CONFIG", details: { reason: "not_installed" } } });
    expect(none.error.message).toContain("is not in a git repository");
    const install = await outside.json(["hook", "install", "git"]);
    expect([install.error.code, install.error.message]).toEqual([none.error.code, none.error.message]);
    const bare = await scene.json(["hook", "check", "git"], { env: { PATH: "/nowhere" } });
    expect(bare.error).toMatchObject({ code: "E_CONFIG", message: expect.stringContaining("no program git") });
  });
});
