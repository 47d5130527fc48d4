/**
 * Builds the hook entries of each agent tool's configuration: the events that run the check, and how a failure of the
 * check counts. Before a write, `|| exit 2` turns everything that is not an answer into a refusal, also when holdfast
 * is not installed.
 */
import type { AgentClient } from "../call.js";
import { type Launcher, shellLine } from "./launcher.js";

export interface HookOptions {
  readonly launcher: Launcher;
  readonly ttl?: string | undefined;
  readonly wait?: string | undefined;
  /** Seconds of `wait`. */
  readonly waitSeconds: number;
  /** Give locks back at the end of each turn, not only of the run. */
  readonly eachTurn: boolean;
}

export interface ClientFile {
  /** Below the project's folder. */
  readonly file: string;
  /** What a new file is. */
  readonly empty: string;
  /** Event and what is put into its list. */
  readonly entries: readonly (readonly [event: string, entry: unknown])[];
  /** For people: what is still to be done. */
  readonly note?: string;
}

/** Whether this is a command that an install wrote. */
export function isOurCommand(command: unknown): boolean {
  return typeof command === "string" && /\bhook check (claude|codex|cursor|gemini)\b/.test(command);
}

/** Besides the wait: a busy machine may be slow to start. */
const PATIENCE_S = 60;
const FILE_TOOLS = "Edit|MultiEdit|Write|NotebookEdit";
const MCP_TOOLS = "mcp__.*(write|edit|create|move|rename|delete|remove).*";
const GEMINI_TOOLS = "write_file|replace|run_shell_command";
const CURSOR_TOOLS = "Write|StrReplace|Edit|Delete|TabWrite|ApplyPatch";

export function clientFile(client: AgentClient, options: HookOptions): ClientFile {
  const words = (flags: readonly string[]): string[] => ["hook", "check", client, ...flags];
  const times = [...(options.ttl ? ["--ttl", options.ttl] : []), ...(options.wait ? ["--wait", options.wait] : [])];
  const gate = `${shellLine(options.launcher, words(times))} || exit 2`;
  const told = shellLine(options.launcher, words([]));
  return FILES[client]({ gate, told, limitS: options.waitSeconds + PATIENCE_S, eachTurn: options.eachTurn });
}

interface Lines {
  readonly gate: string;
  readonly told: string;
  readonly limitS: number;
  readonly eachTurn: boolean;
}

const FILES: Readonly<Record<AgentClient, (lines: Lines) => ClientFile>> = {
  claude({ gate, told, limitS, eachTurn }) {
    const guard = { type: "command", command: gate, timeout: limitS, onFailure: "block" };
    const tell = { hooks: [{ type: "command", command: told }] };
    return {
      file: ".claude/settings.json",
      empty: "{}\n",
      entries: [
        ["PreToolUse", { matcher: `${FILE_TOOLS}|Bash`, hooks: [guard] }],
        ["PreToolUse", { matcher: MCP_TOOLS, hooks: [guard] }],
        ["PostToolUse", { matcher: "*", hooks: [{ type: "command", command: told, async: true }] }],
        ["SessionStart", tell],
        ["SubagentStop", tell],
        ...(eachTurn ? [["Stop", tell] as const] : []),
        ["SessionEnd", tell],
      ],
    };
  },
  codex({ gate, told, limitS, eachTurn }) {
    const tell = { hooks: [{ type: "command", command: told }] };
    const matcher = "apply_patch|Bash";
    return {
      file: ".codex/hooks.json",
      empty: "{}\n",
      entries: [
        ["PreToolUse", { matcher, hooks: [{ type: "command", command: gate, timeout: limitS }] }],
        ["PostToolUse", { matcher, hooks: [{ type: "command", command: told }] }],
        ["SessionStart", tell],
        ["SubagentStop", tell],
        ...(eachTurn ? [["Stop", tell] as const] : []),
        ["SessionEnd", tell],
      ],
      note: "Codex runs a new hook only after you have trusted it: type /hooks in Codex.",
    };
  },
  cursor({ gate, told, limitS, eachTurn }) {
    const guard = { command: gate, failClosed: true, timeout: limitS };
    const tell = { command: told };
    return {
      file: ".cursor/hooks.json",
      empty: '{\n  "version": 1\n}\n',
      entries: [
        ["preToolUse", { ...guard, matcher: CURSOR_TOOLS }],
        ["beforeShellExecution", guard],
        ["postToolUse", tell],
        ["sessionStart", tell],
        ["subagentStop", tell],
        ...(eachTurn ? [["stop", tell] as const] : []),
        ["sessionEnd", tell],
      ],
    };
  },
  gemini({ gate, told, limitS, eachTurn }) {
    const hook = (command: string) => ({ name: "holdfast", type: "command", command, timeout: limitS * 1_000 });
    const tell = { hooks: [hook(told)] };
    return {
      file: ".gemini/settings.json",
      empty: "{}\n",
      entries: [
        ["BeforeTool", { matcher: GEMINI_TOOLS, hooks: [hook(gate)] }],
        ["AfterTool", { matcher: GEMINI_TOOLS, hooks: [hook(told)] }],
        ["SessionStart", tell],
        ...(eachTurn ? [["AfterAgent", tell] as const] : []),
        ["SessionEnd", tell],
      ],
    };
  },
};
