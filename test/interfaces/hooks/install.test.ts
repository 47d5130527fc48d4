/** HOOK-1: an install keeps what is there, and taking it out gives the file back byte for byte. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AGENT_CLIENTS, type AgentClient, type Client } from "../../../src/agents/hooks/call.js";
import { ChangePlan, type FilePart } from "../../../src/agents/hooks/install/change-plan.js";
import { clientFile, type HookOptions } from "../../../src/agents/hooks/install/client-entries.js";
import { ourCommands, withHooks, withoutHooks } from "../../../src/agents/hooks/install/hook-file.js";
import { parseJsonText, plainValue } from "../../../src/agents/hooks/install/json-text.js";
import { agentsPagePart, hookPart, mcpPart } from "../../../src/agents/hooks/install/parts.js";
import { textDiff } from "../../../src/agents/hooks/install/text-diff.js";
import { openGuard } from "../../../src/files/guard.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";

const launcher = { command: "holdfast", args: [], isLocal: false };
const options: HookOptions = { launcher, waitSeconds: 0, eachTurn: false };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-install-"));
  markWorkspace(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function put(...parts: FilePart[]): Promise<ChangePlan> {
  const plan = new ChangePlan(root);
  for (const part of parts) plan.put(part);
  await plan.apply();
  return plan;
}

async function take(...parts: FilePart[]): Promise<void> {
  const plan = new ChangePlan(root);
  for (const part of parts) plan.take(part);
  await plan.apply();
}

function file(path: string, text: string): string {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  return text;
}

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const hooks = (client: Client): FilePart => hookPart(root, client, options);
const pathOf = (client: AgentClient): string => clientFile(client, options).file;

/** What people have in such files: indents, comments, one line, line ends of Windows, hooks of their own. */
const EXISTING = [
  "{}",
  "{ }\n",
  "{\n}\n",
  '{"model":"opus","env":{"A":"1"}}',
  '{\n\t"permissions": {\n\t\t"allow": ["Bash(npm test:*)"]\n\t}\n}\n',
  '{\r\n    "theme": "dark"\r\n}\r\n',
  '// mine\n{\n  "a": [1, 2,], /* b */\n  "hooks": {}, // none yet\n}\n',
  '{\n  "hooks": {\n    "PreToolUse": [],\n    "BeforeTool": [\n      { "matcher": "x", "hooks": [{ "type": "command", "command": "mine" }] }\n    ]\n  },\n  "z": null\n}\n',
  '{"version": 1, "hooks": {"preToolUse": [{"command": "./mine.sh"}], "stop": []}}\n',
];

describe("HOOK-1: hook install", () => {
  it.each(AGENT_CLIENTS)("%s: keeps what is there, and gives it back byte for byte", async (client) => {
    for (const before of EXISTING) {
      file(pathOf(client), before);
      await put(hooks(client));
      const after = plainValue(parseJsonText(read(pathOf(client)))) as { hooks: Record<string, unknown[]> };
      const had = plainValue(parseJsonText(before)) as Record<string, Record<string, unknown[]>>;
      for (const key of Object.keys(had)) if (key !== "hooks") expect(after).toMatchObject({ [key]: had[key] });
      for (const [event, list] of Object.entries(had.hooks ?? {}))
        expect(after.hooks[event]).toEqual(expect.arrayContaining(list));
      for (const [event, entry] of clientFile(client, options).entries)
        expect(after.hooks[event]).toContainEqual(entry);
      await take(hooks(client));
      expect(read(pathOf(client))).toBe(before);
    }
  });

  it.each(AGENT_CLIENTS)("%s: makes the file where there is none, and leaves nothing behind", async (client) => {
    await put(hooks(client));
    expect(ourCommands(read(pathOf(client))).length).toBe(clientFile(client, options).entries.length);
    expect((await put(hooks(client))).changes).toEqual([]);
    await take(hooks(client));
    expect(existsSync(dirname(join(root, pathOf(client))))).toBe(false);
    expect(existsSync(join(root, ".holdfast/installed.json"))).toBe(false);
  });

  it("a second install with other times changes the entries and adds none", async () => {
    const before = file(".claude/settings.json", '{\n  "a": 1\n}\n');
    await put(hooks("claude"));
    await put(hookPart(root, "claude", { ...options, wait: "30s", waitSeconds: 30, eachTurn: true }));
    const commands = ourCommands(read(".claude/settings.json"));
    expect(commands.map(([event]) => event)).toContain("Stop");
    expect(commands.filter(([event]) => event === "PreToolUse").map(([, line]) => line)).toEqual([
      "holdfast hook check claude --wait 30s || exit 2",
      "holdfast hook check claude --wait 30s || exit 2",
    ]);
    await take(hooks("claude"));
    expect(read(".claude/settings.json")).toBe(before);
  });

  it("what was changed since is kept, and only ours is taken out", async () => {
    file(".claude/settings.json", '{\n  "a": 1\n}\n');
    await put(hooks("claude"));
    const edited = read(".claude/settings.json").replace('"a": 1', '"a": 2');
    file(".claude/settings.json", edited);
    await take(hooks("claude"));
    expect(read(".claude/settings.json")).toBe('{\n  "a": 2\n}\n');
  });

  it("a comment that was written beside the hooks stays when they go", async () => {
    file(".claude/settings.json", '{\n  "a": 1 // mine\n}\n');
    await put(hooks("claude"));
    const edited = read(".claude/settings.json").replace('  "hooks"', '  // see the wiki\n  "hooks"');
    expect(edited).toContain('"a": 1, // mine\n  // see the wiki\n  "hooks"');
    file(".claude/settings.json", edited);
    await take(hooks("claude"));
    expect(read(".claude/settings.json")).toBe('{\n  "a": 1 // mine\n  // see the wiki\n}\n');
  });

  it("our handler in a group of somebody else's goes alone", () => {
    const group = {
      matcher: "Bash",
      hooks: [{ command: "mine" }, { command: "holdfast hook check claude || exit 2" }],
    };
    const text = JSON.stringify({ hooks: { PreToolUse: [group] } }, null, 2);
    expect(JSON.parse(withoutHooks(text))).toEqual({
      hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ command: "mine" }] }] },
    });
  });

  it("refuses a file that is no JSON, and leaves it as it is", async () => {
    const before = file(".gemini/settings.json", '{ "a": ');
    await expect(put(hooks("gemini"))).rejects.toThrow(/settings\.json: is no JSON \(line 1\)/);
    const windows = file(".claude/settings.json", '{\n  "folder": "C:\\projects"\n}\n');
    await expect(put(hooks("claude"))).rejects.toThrow(/settings\.json: is no JSON \(line 2\)/);
    expect(read(".claude/settings.json")).toBe(windows);
    file(".codex/hooks.json", '{ "hooks": [] }');
    await expect(put(hooks("codex"))).rejects.toThrow(/hooks is to be an object/);
    expect(read(".gemini/settings.json")).toBe(before);
  });

  // kills: hook-install-meanwhile
  it("writes nothing over what was changed while somebody thought about the question", async () => {
    const plan = new ChangePlan(root);
    plan.put(agentsPagePart);
    plan.put(hooks("claude"));
    const theirs = file(".claude/settings.json", '{ "model": "another" }\n');
    await expect(plan.apply()).rejects.toThrow(expect.objectContaining({ code: "E_REVISION_CONFLICT" }));
    expect(read(".claude/settings.json")).toBe(theirs);
    expect(existsSync(join(root, "AGENTS.md"))).toBe(false);
    await put(agentsPagePart, hooks("claude"));
    expect(read(".claude/settings.json")).toContain('"model": "another"');
  });

  // kills: hook-install-at-once
  it("two installs at once: what both changed is kept", async () => {
    const page = file("AGENTS.md", "# Ours\n\n");
    const settings = file(".claude/settings.json", '{"model":"opus"}');
    const [one, other] = [new ChangePlan(root), new ChangePlan(root)];
    one.put(agentsPagePart);
    other.put(hooks("claude"));
    await Promise.all([one.apply(), other.apply()]);
    await take(agentsPagePart, hooks("claude"));
    expect([read("AGENTS.md"), read(".claude/settings.json")]).toEqual([page, settings]);
    expect(existsSync(join(root, ".holdfast/installed.json"))).toBe(false);
  });

  // kills: hook-install-guard
  it("an install waits while another one writes", async () => {
    const plan = new ChangePlan(root);
    plan.put(hooks("claude"));
    const other = openGuard(join(root, ".holdfast/installed.guard"));
    expect(other.tryEnter()).toBe(true);
    const applied = plan.apply();
    const theirs = { before: "", after_sha256: "0", parts: ["lines"] };
    file(".holdfast/installed.json", JSON.stringify({ schema_version: 1, files: { "AGENTS.md": theirs } }));
    other.leave();
    other.close();
    await applied;
    const { files } = JSON.parse(read(".holdfast/installed.json"));
    expect(Object.keys(files)).toEqual(["AGENTS.md", ".claude/settings.json"]);
  });

  // kills: hook-install-torn
  it("says so when what it has kept cannot be read, and forgets nothing", async () => {
    file("AGENTS.md", "# Ours\n");
    await put(agentsPagePart);
    const [page, whole] = [read("AGENTS.md"), read(".holdfast/installed.json")];
    const damaged = ["", whole.slice(0, -10), "{}", whole.replace('"before"', '"other"'), "\0".repeat(whole.length)];
    for (const text of damaged) {
      file(".holdfast/installed.json", text);
      for (const change of [put, take])
        await expect(change(hooks("claude"), agentsPagePart)).rejects.toMatchObject({
          code: "E_STORE_CORRUPT",
          details: { path: join(root, ".holdfast/installed.json") },
          next: [expect.stringContaining("a copy"), expect.stringContaining("rm ")],
        });
      expect(read(".holdfast/installed.json")).toBe(text);
    }
    file(".holdfast/installed.json", whole.replace('"schema_version": 1', '"schema_version": 2'));
    await expect(take(agentsPagePart)).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    expect([read("AGENTS.md"), existsSync(join(root, ".claude"))]).toEqual([page, false]);
    rmSync(join(root, ".holdfast/installed.json"));
    await take(agentsPagePart);
    expect(read("AGENTS.md")).toBe("# Ours\n");
  });

  it("adds and takes out again without the copy, whatever JSON there was", () => {
    const wanted = clientFile("claude", options);
    const value = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, 2, 4), (had, indent) => {
        const { hooks: _hooks, ...kept } = had as Record<string, unknown>;
        const text = JSON.stringify(kept, null, indent);
        const after = withHooks(text, wanted);
        expect(JSON.parse(after)).toMatchObject({ ...JSON.parse(text), hooks: expect.anything() });
        expect(withoutHooks(after)).toBe(text);
      }),
      { numRuns: 60, seed: 60 },
    );
  });

  it("before a write every client takes a failure for a no", () => {
    const gates = AGENT_CLIENTS.map((client) => clientFile(client, options).entries[0]?.[1]);
    for (const gate of gates) expect(JSON.stringify(gate)).toMatch(/hook check \w+ \|\| exit 2"/);
    expect(gates[0]).toMatchObject({ hooks: [{ onFailure: "block" }] });
    expect(gates[2]).toMatchObject({ failClosed: true });
  });
});

describe("HOOK-1: the hook of git", () => {
  const hook = ".git/hooks/pre-commit";
  beforeEach(() => {
    execFileSync("git", ["init", "-q", "--template="], { cwd: root });
  });

  it("is made, goes first in a script that is there, and goes without a trace", async () => {
    await put(hooks("git"));
    expect(statSync(join(root, hook)).mode & 0o111).toBe(0o111);
    await take(hooks("git"));
    expect(existsSync(join(root, hook))).toBe(false);
    const before = file(hook, "#!/usr/bin/env bash\nset -e\nnpm test");
    chmodSync(join(root, hook), 0o755);
    await put(hooks("git"));
    expect(read(hook).split("\n").slice(0, 4)).toEqual([
      "#!/usr/bin/env bash",
      "# >>> holdfast",
      "holdfast hook check git || exit 1",
      "# <<< holdfast",
    ]);
    expect((await put(hooks("git"))).changes).toEqual([]);
    await take(hooks("git"));
    expect(read(hook)).toBe(before);
    expect(statSync(join(root, hook)).mode & 0o777).toBe(0o755);
  });

  it("does not touch what is no shell script, or does not run", async () => {
    file(hook, "#!/usr/bin/env python3\n");
    chmodSync(join(root, hook), 0o755);
    await expect(put(hooks("git"))).rejects.toThrow(/no shell script/);
    file(hook, "#!/bin/sh\n");
    chmodSync(join(root, hook), 0o644);
    await expect(put(hooks("git"))).rejects.toThrow(/not executable/);
  });
});

describe("init --agents: the files", () => {
  it("get lines, hooks and MCP entries beside what is there, once, and can be rid of each", async () => {
    const page = file("AGENTS.md", "# Ours\n\nBe kind.");
    const settings = file(".gemini/settings.json", '{\n  "mcpServers": { "other": { "command": "x" } }\n}\n');
    const toml = file(".codex/config.toml", 'model = "o9"\n');
    const all = [agentsPagePart, ...AGENT_CLIENTS.flatMap((client) => [hooks(client), mcpPart(client, launcher)])];
    await put(...all);
    expect((await put(...all)).changes).toEqual([]);
    expect(read("AGENTS.md")).toContain("LOCK_CONTENTION");
    expect(JSON.parse(read(".mcp.json"))).toEqual({ mcpServers: { holdfast: { command: "holdfast", args: ["mcp"] } } });
    expect(JSON.parse(read(".gemini/settings.json")).mcpServers).toEqual({
      other: { command: "x" },
      holdfast: { command: "holdfast", args: ["mcp"] },
    });
    expect(read(".codex/config.toml")).toContain('[mcp_servers.holdfast]\ncommand = "holdfast"\nargs = ["mcp"]');
    await take(hooks("gemini"));
    expect(JSON.parse(read(".gemini/settings.json"))).toMatchObject({ mcpServers: { holdfast: {} } });
    expect(read(".gemini/settings.json")).not.toContain("hook check");
    await take(...all);
    expect([read("AGENTS.md"), read(".gemini/settings.json"), read(".codex/config.toml")]).toEqual([
      page,
      settings,
      toml,
    ]);
    expect([".mcp.json", ".cursor", ".claude"].map((path) => existsSync(join(root, path)))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe("HOOK-1: the diff", () => {
  it("shows what goes and what comes, with a little around it", () => {
    const before = "a\nb\nc\nd\ne\nf\ng\nh\n";
    const diff = textDiff("x", before, "a\nb\nc\nd\nE\nf\ng\nh\ni\n");
    expect(diff).toBe("--- x\n+++ x\n c\n d\n-e\n+E\n f\n g\n h\n+i");
    expect(textDiff("x", null, "a\n")).toBe("--- /dev/null\n+++ x\n+a");
    expect(textDiff("x", before, before)).toBe("");
  });
});
