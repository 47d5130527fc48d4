/**
 * Claude Code. A refusal is exit code 2 with the reason on stderr and nothing on stdout: of all ways to say no it is the
 * one that does not depend on a parsed answer. Saying yes is saying nothing, so that the client's own permissions stand.
 */
import type { Answer, Dialect, HookCall, Moment, Refusal } from "../call.js";
import { callOf, type EventNames } from "./nested.js";

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
};

/** Shared by the clients that take exit code 2 for a no. */
export function exitTwo(moment: Moment, refusal: Refusal): Answer {
  if (refusal === null || moment !== "before") return { stdout: "", stderr: refusal ?? "", exit: 0 };
  return { stdout: "", stderr: refusal, exit: 2 };
}
