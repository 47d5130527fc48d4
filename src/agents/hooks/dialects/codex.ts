/** Codex: the shape of Claude Code, with patches of several files. Only exit code 2 with a word on stderr refuses. */
import type { Dialect, HookCall } from "../call.js";
import { exitTwo } from "./claude.js";
import { callOf, type EventNames } from "./nested.js";

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
};
