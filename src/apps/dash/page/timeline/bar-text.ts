/** Writes the text about the bar that the user points at, and keeps it true while the hold goes on. */
import type { HoldSpan, TimelineView } from "../../views.js";
import type { Holds } from "./bars.js";
import { holdsText } from "./hold-words.js";

export interface Pointed {
  readonly resource: string;
  readonly holds: Holds;
}

export function pointedText({ resource, holds }: Pointed, { rows }: TimelineView): string {
  const spans = rows.find((row) => row.resource === resource)?.spans ?? [];
  const asItIs = (old: HoldSpan): HoldSpan =>
    spans.find(({ lock_id, from }) => lock_id === old.lock_id && from === old.from) ?? old;
  const [first, ...others] = holds;
  return `${resource}: ${holdsText([asItIs(first), ...others.map(asItIs)])}`;
}
