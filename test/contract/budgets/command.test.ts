import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { expectBudgets } from "./table.fixture.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const LISTER = fileURLToPath(new URL("./modules.fixture.cjs", import.meta.url));
/** What a client says before its agent writes a file. */
const WRITE = JSON.stringify({
  hook_event_name: "PreToolUse",
  session_id: "budget",
  tool_name: "Write",
  tool_input: { file_path: "notes.md", content: "x" },
});

interface Loaded {
  readonly builtins: readonly string[];
  readonly files: readonly string[];
}

it("budgets of the command: lock status and hook check load as many modules as recorded", () => {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-budgets-"));
  const root = join(dir, "workspace");
  const list = join(dir, "modules.json");
  mkdirSync(root);
  const env = { PATH: process.env.PATH, HOME: dir, XDG_STATE_HOME: join(dir, "state"), BUDGET_MODULES: list };
  const modulesOf = (words: readonly string[], input = ""): Loaded => {
    const options = { cwd: root, env, input, encoding: "utf8" } as const;
    const { status, stderr } = spawnSync(process.execPath, ["--require", LISTER, MAIN, ...words], options);
    expect(status, stderr).toBe(0);
    return JSON.parse(readFileSync(list, "utf8")) as Loaded;
  };
  try {
    spawnSync(process.execPath, [MAIN, "init"], { cwd: root, env });
    const loaded = Object.entries({
      "lock status": modulesOf(["lock", "status", "shop"]),
      "first hook check": modulesOf(["hook", "check", "claude"], WRITE),
      "hook check": modulesOf(["hook", "check", "claude"], WRITE),
    });
    const counts = loaded.map(([words, { builtins, files }]) => [
      words,
      { builtins: builtins.length, files: files.length },
    ]);
    const lists = loaded.map(([words, { builtins, files }]) => [words, [...builtins, ...files].join("\n")]);
    expectBudgets("command", Object.fromEntries(counts), Object.fromEntries(lists));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
