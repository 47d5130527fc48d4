/**
 * Translates the hooks of Claude Code. A refusal is exit code 2 with the reason on stderr and nothing on stdout: of all
 * ways to refuse, this is the only one that does not depend on a parsed answer. A permitted call gets no output, so
 * that the agent tool's own permissions stand.
 */
import type { Answer, Dialect, HookCall, Moment, Refusal } from "../call.js";
import { callOf, type EventNames, tellAt } from "./nested.js";

const EVENTS: EventNames = {
  PreToolUse: "before",
  PostToolUse: "after",
  PostToolUseFailure: "after",
  UserPromptSubmit: "after",
  SessionStart: "start",
  Stop: "turn-end",
  SubagentStop: "agent-end",
  SessionEnd: "end",
};

export const claude: Dialect = {
  read: (input): HookCall => callOf("claude", input, EVENTS),
  answer: exitTwo,
  // The hook after a tool runs in the background: its output comes a turn late.
  tell: tellAt("PreToolUse", "UserPromptSubmit"),
};

/** Shared by the clients that take exit code 2 for a no. */
export function exitTwo(moment: Moment, refusal: Refusal): Answer {
  if (refusal === null || moment !== "before") return { stdout: "", stderr: refusal ?? "", exit: 0 };
  return { stdout: "", stderr: refusal, exit: 2 };
}
