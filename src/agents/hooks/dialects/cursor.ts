/**
 * Translates the hooks of Cursor. Answers are JSON on stdout. With `failClosed` a missing answer refuses the tool, so
 * before a tool there is always an answer. Shell commands arrive as an event of their own, with the command at the top
 * level.
 */
import type { Answer, Dialect, HookCall, Moment, Refusal } from "../call.js";
import { asFields, notUnderstood, textAt } from "../fields.js";
import { shellIntent } from "../shell/shell-intent.js";
import { callOf, type EventNames } from "./nested.js";

const EVENTS: EventNames = {
  preToolUse: "before",
  postToolUse: "after",
  postToolUseFailure: "after",
  afterFileEdit: "after",
  afterShellExecution: "after",
  beforeSubmitPrompt: "after",
  sessionStart: "start",
  stop: "turn-end",
  subagentStop: "agent-end",
  sessionEnd: "end",
};

export const cursor: Dialect = {
  read(input): HookCall {
    const fields = asFields(input, "it");
    if (textAt(fields, "hook_event_name") !== "beforeShellExecution") return callOf("cursor", fields, EVENTS);
    const command = textAt(fields, "command");
    if (command === null) throw notUnderstood("a shell command came without its text");
    const cwd = textAt(fields, "cwd");
    const call = callOf("cursor", { ...fields, hook_event_name: "sessionStart" }, EVENTS);
    return {
      ...call,
      moment: "before",
      event: "beforeShellExecution",
      intent: shellIntent(command, cwd ?? process.cwd()),
    };
  },

  tell(event: string, remark: string): Answer | null {
    if (event !== "postToolUse") return null;
    return { stdout: `${JSON.stringify({ additional_context: remark })}\n`, stderr: "", exit: 0 };
  },

  answer(moment: Moment, refusal: Refusal): Answer {
    if (moment !== "before") return { stdout: "", stderr: refusal ?? "", exit: 0 };
    const decision =
      refusal === null
        ? { permission: "allow" }
        : { permission: "deny", user_message: refusal.split("\n", 1)[0], agent_message: refusal };
    return { stdout: `${JSON.stringify(decision)}\n`, stderr: refusal ?? "", exit: 0 };
  },
};
