/** Formats the tree of snapshots and their parents: a line each, oldest first, branches to the right. */

import { size } from "../../../base/count-text.js";
import type { SnapshotInfo } from "../../../features/worktree/snapshot/descriptor.js";
import type { Screen } from "../output/screen.js";
import { cut, widthOf } from "../output/text-width.js";
import { clockTime } from "../output/times.js";

/** `heads` are the snapshots that worktrees stand on, by id. */
export function historyText(
  snapshots: readonly SnapshotInfo[],
  heads: ReadonlyMap<string, readonly string[]>,
  screen: Screen,
): string {
  const known = new Set(snapshots.map((each) => each.snapshot_id));
  const children = new Map<string | null, SnapshotInfo[]>();
  for (const each of snapshots) {
    const parent = each.parent_id !== null && known.has(each.parent_id) ? each.parent_id : null;
    children.set(parent, [...(children.get(parent) ?? []), each]);
  }
  const lines: string[] = [];
  /** The last child goes on in the column of its parent, so a straight history stays straight. */
  const stack = [...(children.get(null) ?? [])].reverse().map((info) => ({ info, indent: "", joint: "" }));
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { info, indent, joint } = next;
    const left = indent + joint;
    const own = line(info, heads.get(info.snapshot_id) ?? [], screen, screen.width - left.length);
    lines.push(`${screen.paint("dim", left)}${own}`);
    const after = children.get(info.snapshot_id) ?? [];
    const base = joint === "" ? indent : `${indent}│ `;
    for (const [at, child] of [...after].reverse().entries())
      stack.push({ info: child, indent: base, joint: at === 0 ? "" : "├─" });
  }
  return lines.join("\n");
}

type Piece = readonly [style: Parameters<Screen["paint"]>[0] | null, text: string];

/**
 * What matters comes before the note: on a terminal that is cut where the line ends, and only there. Where little
 * of it would be left the time goes, which the id tells too.
 */
function line(info: SnapshotInfo, heads: readonly string[], screen: Screen, columns: number): string {
  const room = screen.isTerminal ? columns : Infinity;
  const withTime = piecesOf(info, heads, ` ${clockTime(info.created_at)} `);
  const wanted = lengthOf(withTime) + Math.min(info.note.length, GOOD_NOTE);
  const pieces = wanted <= room ? withTime : piecesOf(info, heads, "");
  const note = noteOf(info, room - lengthOf(pieces) - 2);
  if (note !== "") pieces.push([null, ` ${note}`]);
  return pieces.map(([style, text]) => (style === null ? text : screen.paint(style, text))).join(" ");
}

function piecesOf(info: SnapshotInfo, heads: readonly string[], time: string): Piece[] {
  return [
    [null, "*"],
    ["bold", info.snapshot_id],
    [null, `${time} ${info.worktree_id}  ${size(info.bytes)}`],
    ...marksOf(info, heads),
  ];
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, [, text]) => sum + text.length + 1, -1);
}

function marksOf(info: SnapshotInfo, heads: readonly string[]): Piece[] {
  return [
    ...heads.map((name): Piece => ["green", `<- ${name}`]),
    ...(info.kind === "rescue" ? [["cyan", "rescue"] as const] : []),
    ...(info.consistency_level === "best_effort" ? [["yellow", "! best effort"] as const] : []),
    ...(info.worktree_mode === "shared" ? [["yellow", "! shared, high risk"] as const] : []),
    ...(info.skipped > 0 ? [["yellow", `! ${info.skipped} skipped`] as const] : []),
    ...info.tags.filter((tag) => tag !== "rescue").map((tag): Piece => ["cyan", `#${tag}`]),
  ];
}

const LEAST_NOTE = 8;
const GOOD_NOTE = 24;

/** Its first line. Whoever wrote it must not draw on the terminal. */
function noteOf({ note }: SnapshotInfo, room: number): string {
  const [first = ""] = note.split("\n");
  const shown = first.replaceAll(/\p{Cc}/gu, " ");
  return widthOf(shown) > room && room < LEAST_NOTE ? "" : cut(shown, room);
}
