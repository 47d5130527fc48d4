/** What linked worktrees of a repository need of an agent tool's settings: it is written, listed and reported. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Json, openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
let root: string;
let worktree: string;

beforeAll(async () => {
  scene = await openScene();
  ({ root } = scene);
  worktree = join(scene.dir, "feat ure");
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");
});
afterAll(() => scene.close());

const git = (...words: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd: root, encoding: "utf8" });
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const install = (...words: string[]) => scene.data(["hook", "install", ...words]);
const proofs = async (): Promise<Json[]> => (await scene.json(["doctor", "hooks"])).data.proofs;
const ofWorktree = async () => (await proofs()).filter(({ check }) => check.includes("linked worktree"));

describe(".worktreeinclude", () => {
  // kills: worktree-include-tracked
  it("lists the settings files that git does not carry, once, and beside the lines of others", async () => {
    writeFileSync(join(root, ".worktreeinclude"), ".env\n");
    mkdirSync(join(root, ".cursor"));
    writeFileSync(join(root, ".cursor/mcp.json"), "{}\n");
    git("add", ".cursor/mcp.json");
    const clients = ["--client", "claude", "--client", "cursor"];
    const { files } = await scene.data(["init", "--agents", ...clients, "--yes"]);
    expect(files.map(({ path }: Json) => path)).toContain(".worktreeinclude");
    const text = ".env\n\n# >>> holdfast\n.claude/settings.json\n.mcp.json\n.cursor/hooks.json\n# <<< holdfast\n";
    expect(read(".worktreeinclude")).toBe(text);
    expect((await scene.data(["init", "--agents", ...clients, "--yes"])).written).toBe(false);
    await install("claude");
    expect(read(".worktreeinclude")).toBe(text);
    await install("gemini");
    expect(read(".worktreeinclude")).toContain(".cursor/hooks.json\n.gemini/settings.json\n# <<<");
  });

  it("loses the lines of the agent tool that is uninstalled, and is what it was after the last one", async () => {
    await install("claude", "--uninstall");
    expect(read(".worktreeinclude")).toBe(
      ".env\n\n# >>> holdfast\n.cursor/hooks.json\n.gemini/settings.json\n# <<< holdfast\n",
    );
    await install("gemini", "--uninstall");
    await install("cursor", "--uninstall");
    expect(read(".worktreeinclude")).toBe(".env\n");
  });
});

describe("doctor hooks in a repository with a linked worktree", () => {
  beforeAll(async () => {
    await install("claude");
    await install("codex");
    expect(existsSync(join(root, ".codex/config.toml"))).toBe(false);
    expect(await ofWorktree()).toEqual([]);
    git("worktree", "add", "-q", "--no-track", "-b", "feature", worktree);
  });

  // kills: worktree-sandbox
  it("names each settings file that the worktree lacks, with the command that carries it over", async () => {
    const found = await ofWorktree();
    expect(found.map(({ client, ok }) => [client, ok])).toEqual([
      ["claude", false],
      ["codex", false],
      ["codex", false],
    ]);
    const { exit, stderr } = await scene.run(["doctor", "hooks"]);
    expect(exit).toBe(78);
    expect(stderr).toContain(`cp ${root}/.claude/settings.json '${worktree}/.claude/settings.json'`);
    execFileSync("sh", ["-c", found[0].next]);
    expect((await ofWorktree())[0]).toMatchObject({ client: "claude", ok: true });
    expect(found[2].message).toContain(`lacks ${root}/.holdfast`);
    expect(found[2].next).toMatch(/^holdfast hook install codex, then: mkdir -p /);
  });

  it("hook install codex lets the sandbox write the store, and doctor hooks is content after the copy", async () => {
    const { files } = await install("codex");
    expect(files.map(({ path }: Json) => path)).toEqual([".codex/config.toml", ".worktreeinclude"]);
    expect(read(".codex/config.toml")).toContain(`[sandbox_workspace_write]\nwritable_roots = ["${root}/.holdfast"]\n`);
    expect((await install("codex")).written).toBe(false);
    for (const file of [".codex/config.toml", ".codex/hooks.json"]) {
      mkdirSync(dirname(join(worktree, file)), { recursive: true });
      copyFileSync(join(root, file), join(worktree, file));
    }
    const { exit, data } = await scene.json(["doctor", "hooks"], { cwd: worktree });
    expect([exit, data.ok, data.root]).toEqual([0, true, root]);
    await install("codex", "--uninstall");
    expect(existsSync(join(root, ".codex"))).toBe(false);
  });

  // kills: worktree-of-user
  it("does not ask for a file where the hook is in the settings of the user", async () => {
    const file = join(scene.dir, ".claude/settings.json");
    mkdirSync(dirname(file));
    const ofClaude = async () => (await ofWorktree()).filter(({ client }) => client === "claude");
    expect(await ofClaude()).toHaveLength(1);
    copyFileSync(join(root, ".claude/settings.json"), file);
    expect(await ofClaude()).toEqual([]);
  });

  it("writes over no file of the worktree", async () => {
    await install("gemini");
    mkdirSync(join(worktree, ".gemini"));
    writeFileSync(join(worktree, ".gemini/settings.json"), '{"theme": "dark"}\n');
    const [gemini] = await ofWorktree();
    expect(gemini).toMatchObject({ client: "gemini", ok: false, next: expect.stringMatching(/^Add the hooks of /) });
  });
});
