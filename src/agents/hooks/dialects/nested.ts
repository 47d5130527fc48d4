/**
 * Reads the fields that the dialects have in common: the name of the event, the name and the arguments of the tool, the
 * ids of the run.
 */
import { type AgentClient, type Dialect, type HookCall, type Moment, NO_INTENT } from "../call.js";
import { asFields, notUnderstood, textAt } from "../fields.js";
import { toolIntent } from "../tool-intent.js";

export type EventNames = Readonly<Record<string, Moment>>;

/** Returns the answer of the clients that take context for the agent as JSON, at these events. */
export function tellAt(...events: readonly string[]): Dialect["tell"] {
  return (event, remark) => {
    if (!events.includes(event)) return null;
    const output = { hookSpecificOutput: { hookEventName: event, additionalContext: remark } };
    return { stdout: `${JSON.stringify(output)}\n`, stderr: "", exit: 0 };
  };
}

/** Throws for an event nobody knows, and for one before a tool that does not say which. */
export function callOf(client: AgentClient, input: unknown, events: EventNames): HookCall {
  const fields = asFields(input, "it");
  const event = textAt(fields, "hook_event_name") ?? "";
  const moment = Object.hasOwn(events, event) ? events[event] : undefined;
  if (moment === undefined) throw notUnderstood(`there is no event ${JSON.stringify(event)}`);
  const cwd = textAt(fields, "cwd");
  return {
    moment,
    event,
    client: textAt(fields, "cursor_version") === null ? client : "cursor",
    session: textAt(fields, "conversation_id", "session_id"),
    agent: textAt(fields, "agent_id", "subagent_id"),
    cwd,
    intent: moment === "before" ? intentBefore(fields, cwd ?? process.cwd()) : NO_INTENT,
  };
}

function intentBefore(fields: Readonly<Record<string, unknown>>, cwd: string) {
  const tool = textAt(fields, "tool_name");
  if (tool === null) throw notUnderstood("it does not say which tool");
  return toolIntent(tool, asFields(fields.tool_input, "tool_input"), cwd);
}
