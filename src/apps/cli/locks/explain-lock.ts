/** Explains a lock: its holders, its queue, the waiters and whom they wait for, and its last events. */
import { circleText } from "../../../client/reading/circles.js";
import type { Explanation } from "../../../client/reading/explain.js";
import type { AuditEntry } from "../../../lock/audit.js";
import { parseKey } from "../../../lock/key.js";
import type { ContextWith, Outcome } from "../command.js";
import type { Screen } from "../output/screen.js";
import { wrap } from "../output/text.js";
import { auditTable } from "../record/audit-text.js";
import { waiterTable } from "./grants-text.js";
import { lookAtLock } from "./lock-status.js";
import { statusText } from "./status-text.js";

const DEFAULT_HISTORY = 10;

export async function explainLock(
  context: ContextWith<{ readonly history: number | undefined }, { readonly KEY: string }>,
): Promise<Outcome> {
  const resource = parseKey(context.args.KEY);
  const limit = context.flags.history ?? DEFAULT_HISTORY;
  const holdfast = await context.openForReading();
  if (holdfast === null) {
    const { data, text } = await lookAtLock(context);
    return {
      data: { resource, status: data, holders: [], line: [], history: [] },
      ...(text ? { text } : {}),
    };
  }
  const found = await holdfast.explain(resource);
  const history = limit === 0 ? [] : await holdfast.audit.recent({ resource, limit });
  return { data: { resource, ...found, history }, text: (screen) => textOf(found, history, screen) };
}

function reasonText({ kind, owner, resource, own }: Explanation["line"][number]["waits_for"][number]): string {
  if (kind === "waiter") return `${owner}, who is ahead in line`;
  if (own === "instance") return `itself: the same process holds ${resource}`;
  return own === "owner" ? `itself: the same owner holds ${resource}` : `${owner}, who holds ${resource}`;
}

function textOf({ status, line, circles = [] }: Explanation, history: readonly AuditEntry[], screen: Screen): string {
  const parts = [statusText({ ...status, waiters: [] }, screen)];
  if (line.length > 0) {
    parts.push(
      "",
      screen.paint("bold", "in line"),
      waiterTable(line, screen, 2),
      "",
      screen.paint("bold", "who waits for whom"),
    );
    for (const waiter of line) {
      const reasons = waiter.waits_for.map(reasonText);
      parts.push(wrap(`${waiter.owner} waits for ${reasons.join("; ") || "its turn"}`, screen.width, 4, 2));
    }
  }
  if (circles.length > 0)
    parts.push("", screen.paint("bold", "circles: each waits for the next, the last for the first"));
  for (const circle of circles) parts.push(wrap(circleText(circle), screen.width, 4, 2));
  if (history.length > 0) parts.push("", screen.paint("bold", "lately"), auditTable(history, screen, 2));
  return parts.join("\n");
}
