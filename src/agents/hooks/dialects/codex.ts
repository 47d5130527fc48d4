/**
 * Translates the hooks of Codex: the format of Claude Code, with patches that change several files. Only exit code 2
 * with text on stderr refuses.
 */
import type { Dialect, HookCall } from "../call.js";
import { exitTwo } from "./claude.js";
import { callOf, type EventNames, tellAt } from "./nested.js";

const EVENTS: EventNames = {
  PreToolUse: "before",
  PostToolUse: "after",
  UserPromptSubmit: "after",
  SessionStart: "start",
  Stop: "turn-end",
  SubagentStop: "agent-end",
  SessionEnd: "end",
};

export const codex: Dialect = {
  read: (input): HookCall => callOf("codex", input, EVENTS),
  answer: exitTwo,
  tell: tellAt("PreToolUse", "PostToolUse", "UserPromptSubmit"),
};
