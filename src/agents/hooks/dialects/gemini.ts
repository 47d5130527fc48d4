/** Translates the hooks of Gemini CLI. Exit code 2 with the reason on stderr refuses, and stdout stays empty. */
import type { Dialect, HookCall } from "../call.js";
import { exitTwo } from "./claude.js";
import { callOf, type EventNames, tellAt } from "./nested.js";

const EVENTS: EventNames = {
  BeforeTool: "before",
  AfterTool: "after",
  BeforeAgent: "after",
  SessionStart: "start",
  AfterAgent: "turn-end",
  SessionEnd: "end",
};

export const gemini: Dialect = {
  read: (input): HookCall => callOf("gemini", input, EVENTS),
  answer: exitTwo,
  tell: tellAt("AfterTool", "BeforeAgent"),
};
