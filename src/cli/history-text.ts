/** The tree of parents as people read it: a line each, oldest first, branches to the right. */
import type { SnapshotInfo } from "../worktree/descriptor.js";
import { clockTime } from "./moments.js";
import type { Screen } from "./screen.js";
import { size } from "./worktrees.js";

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
    lines.push(`${screen.paint("dim", indent + joint)}${line(info, heads.get(info.snapshot_id) ?? [], screen)}`);
    const own = children.get(info.snapshot_id) ?? [];
    const base = joint === "" ? indent : `${indent}│ `;
    for (const [at, child] of [...own].reverse().entries())
      stack.push({ info: child, indent: base, joint: at === 0 ? "" : "├─" });
  }
  return lines.join("\n");
}

function line(info: SnapshotInfo, heads: readonly string[], screen: Screen): string {
  const marks = [
    ...heads.map((name) => screen.paint("green", `<- ${name}`)),
    ...(info.kind === "rescue" ? [screen.paint("cyan", "rescue")] : []),
    ...(info.consistency_level === "best_effort" ? [screen.paint("yellow", "! best effort")] : []),
    ...(info.worktree_mode === "shared" ? [screen.paint("yellow", "! shared, high risk")] : []),
    ...(info.skipped > 0 ? [screen.paint("yellow", `! ${info.skipped} skipped`)] : []),
    ...info.tags.filter((tag) => tag !== "rescue").map((tag) => screen.paint("cyan", `#${tag}`)),
  ];
  const note = info.note === "" ? "" : `  ${info.note.split("\n")[0]}`;
  const facts = `${clockTime(info.created_at)}  ${info.worktree_id}  ${info.entries.toLocaleString("en-US")} entries, ${size(info.bytes)}`;
  return `* ${screen.paint("bold", info.snapshot_id)}  ${facts}${note}${marks.length === 0 ? "" : `  ${marks.join(" ")}`}`;
}
