/** HOOK-1: each client's own words, as it sends them. */
import { describe, expect, it } from "vitest";
import type { AgentClient } from "../../../src/agents/hooks/call.js";
import { DIALECTS } from "../../../src/agents/hooks/dialects/dialect.js";

const CLAUDE = {
  session_id: "0b5f7c1e-52f4-4f0e-9d1d-6a6c0f4f9b11",
  transcript_path: "/home/ann/.claude/projects/-work/0b5f7c1e.jsonl",
  cwd: "/repo",
  permission_mode: "acceptEdits",
  hook_event_name: "PreToolUse",
  tool_use_id: "toolu_01ABC",
};

const GEMINI = {
  session_id: "a1b2",
  transcript_path: "/home/ann/.gemini/tmp/x.json",
  cwd: "/repo",
  hook_event_name: "BeforeTool",
  timestamp: "2026-11-02T08:15:30.000Z",
};

const CURSOR = {
  conversation_id: "668320d2-2fd8-4888-b33c-2a466fec86e7",
  generation_id: "490b90b7-a2ce-4c2c-bb76-cb77b125df2f",
  hook_event_name: "preToolUse",
  workspace_roots: ["/repo"],
  cursor_version: "2.4.1",
  cwd: "/repo",
};

const PATCH = `*** Begin Patch
*** Update File: src/api.ts
@@
-const a = 1;
+const a = 2;
+// *** Delete File: src/not-a-header.ts
*** Add File: src/new name.ts
+export {};
+*** Delete File: inside/of/the/content.ts
*** Delete File: old.ts
*** Update File: from.ts
*** Move to: docs/to.ts
@@
 x
*** End Patch
`;

const read = (client: AgentClient, input: unknown) => DIALECTS[client].read(input);
const files = (client: AgentClient, input: unknown) => read(client, input).intent.files;

describe("HOOK-1: Claude Code", () => {
  it("names the file of Edit, Write, MultiEdit and NotebookEdit", () => {
    const tools = [
      ["Write", { file_path: "/repo/a.ts", content: "x" }],
      ["Edit", { file_path: "/repo/a.ts", old_string: "a", new_string: "b", replace_all: false }],
      ["MultiEdit", { file_path: "/repo/a.ts", edits: [] }],
      ["NotebookEdit", { notebook_path: "/repo/a.ts", new_source: "" }],
    ] as const;
    for (const [tool_name, tool_input] of tools)
      expect(files("claude", { ...CLAUDE, tool_name, tool_input })).toEqual(["/repo/a.ts"]);
  });

  it("tells the run, the sub-agent, the folder and the moment", () => {
    const call = { ...CLAUDE, tool_name: "Write", tool_input: { file_path: "/repo/a" }, agent_id: "a17" };
    expect(read("claude", call)).toMatchObject({
      moment: "before",
      client: "claude",
      session: CLAUDE.session_id,
      agent: "a17",
      cwd: "/repo",
    });
    const moments = ["SessionStart", "PostToolUse", "UserPromptSubmit", "Stop", "SubagentStop", "SessionEnd"].map(
      (hook_event_name) => read("claude", { ...CLAUDE, hook_event_name }).moment,
    );
    expect(moments).toEqual(["start", "after", "after", "turn-end", "agent-end", "end"]);
  });

  it("finds what tools of MCP servers write, and lets others be", () => {
    const call = (tool_name: string, tool_input: unknown) => files("claude", { ...CLAUDE, tool_name, tool_input });
    expect(call("mcp__filesystem__write_file", { path: "/repo/x", content: "" })).toEqual(["/repo/x"]);
    expect(call("mcp__filesystem__move_file", { source: "/repo/x", destination: "/repo/y" })).toEqual([
      "/repo/x",
      "/repo/y",
    ]);
    expect(call("mcp__holdfast__issue_create", { title: "t" })).toEqual([]);
    expect(call("Read", { file_path: "/repo/x" })).toEqual([]);
  });

  it("refuses with exit code 2 and words on stderr alone, and says nothing for a yes", () => {
    expect(DIALECTS.claude.answer("before", "taken")).toEqual({ stdout: "", stderr: "taken", exit: 2 });
    expect(DIALECTS.claude.answer("before", null)).toEqual({ stdout: "", stderr: "", exit: 0 });
    expect(DIALECTS.claude.answer("end", "store gone").exit).toBe(0);
  });
});

describe("HOOK-1: Codex", () => {
  it("names every file of a patch, and takes no line of content for one", () => {
    const input = { ...CLAUDE, tool_name: "apply_patch", tool_input: { command: PATCH } };
    expect(files("codex", input)).toEqual(["src/api.ts", "src/new name.ts", "old.ts", "from.ts", "docs/to.ts"]);
    expect(files("codex", { ...input, tool_input: { command: ["apply_patch", PATCH] } })).toHaveLength(5);
    expect(files("codex", { ...input, tool_name: "Write" })).toHaveLength(5);
  });

  it("finds a patch in a shell command, given as a line or as words", () => {
    const command = `apply_patch <<'EOF'\n${PATCH}EOF\n`;
    const call = (given: unknown) =>
      files("codex", { ...CLAUDE, cwd: "/w", tool_name: "Bash", tool_input: { command: given } });
    const expected = ["/w/src/api.ts", "/w/src/new name.ts", "/w/old.ts", "/w/from.ts", "/w/docs/to.ts"];
    expect(call(command)).toEqual(expected);
    expect(call(["bash", "-lc", command])).toEqual(expected);
    expect(call(["bash", "-c", "rm 'a b'", "name"])).toEqual(["/w/a b"]);
    expect(call(["rm", "a b", "c*"])).toEqual(["/w/a b", "/w/c*"]);
  });

  it("refuses a patch that names no file", () => {
    const call = (command: unknown) => () =>
      read("codex", { ...CLAUDE, tool_name: "apply_patch", tool_input: { command } });
    for (const command of ["*** Begin Patch\n*** End Patch", "", "diff --git a/x b/x", null])
      expect(call(command)).toThrow();
  });

  it("says no in words, because a silent no does not count", () => {
    expect(DIALECTS.codex.answer("before", "taken")).toEqual({ stdout: "", stderr: "taken", exit: 2 });
  });
});

describe("HOOK-1: Cursor", () => {
  it("names files of tools and of shell commands, and runs are conversations", () => {
    const write = { ...CURSOR, tool_name: "Write", tool_input: { file_path: "/repo/a.ts", content: "" } };
    expect(read("cursor", write)).toMatchObject({ session: CURSOR.conversation_id, client: "cursor" });
    expect(files("cursor", write)).toEqual(["/repo/a.ts"]);
    const shell = { ...CURSOR, hook_event_name: "beforeShellExecution", command: "echo hi >> notes.md" };
    expect(read("cursor", shell).moment).toBe("before");
    expect(files("cursor", shell)).toEqual(["/repo/notes.md"]);
  });

  it("is itself where it runs the hooks of Claude Code", () => {
    const input = { ...CURSOR, hook_event_name: "PreToolUse", tool_name: "Write", tool_input: { file_path: "/a" } };
    expect(read("claude", input)).toMatchObject({ client: "cursor", session: CURSOR.conversation_id });
  });

  it("always answers before a tool, in JSON", () => {
    const said = (refusal: string | null) => JSON.parse(DIALECTS.cursor.answer("before", refusal).stdout);
    expect(said(null)).toEqual({ permission: "allow" });
    expect(said("taken by b\nmore")).toEqual({
      permission: "deny",
      user_message: "taken by b",
      agent_message: "taken by b\nmore",
    });
    expect(DIALECTS.cursor.answer("end", null)).toEqual({ stdout: "", stderr: "", exit: 0 });
  });
});

describe("HOOK-1: Gemini CLI", () => {
  it("names the file of write_file and replace, and of a command in its folder", () => {
    const call = (tool_name: string, tool_input: unknown) => files("gemini", { ...GEMINI, tool_name, tool_input });
    expect(call("write_file", { file_path: "/repo/a", content: "" })).toEqual(["/repo/a"]);
    expect(call("replace", { file_path: "a", old_string: "", new_string: "" })).toEqual(["a"]);
    expect(call("run_shell_command", { command: "rm x", dir_path: "/repo/sub" })).toEqual(["/repo/sub/x"]);
    expect(call("read_file", { file_path: "/repo/a" })).toEqual([]);
  });
});

describe("HOOK-1: what cannot be understood", () => {
  const bad: [string, unknown][] = [
    ["no object", 7],
    ["a list", []],
    ["nothing", null],
    ["no event", { session_id: "x" }],
    ["an unknown event", { ...CLAUDE, hook_event_name: "PreEverything" }],
    ["a name from the prototype", { ...CLAUDE, hook_event_name: "constructor" }],
    ["no tool", CLAUDE],
    ["no arguments", { ...CLAUDE, tool_name: "Write" }],
    ["a write without a file", { ...CLAUDE, tool_name: "Write", tool_input: { content: "x" } }],
    ["a file that is no text", { ...CLAUDE, tool_name: "Edit", tool_input: { file_path: ["/a"] } }],
    ["a command without text", { ...CLAUDE, tool_name: "Bash", tool_input: {} }],
  ];
  it.each(bad)("is refused: %s", (_, input) => {
    for (const client of ["claude", "codex"] as const) expect(() => read(client, input)).toThrow(/not understood/);
  });
});
