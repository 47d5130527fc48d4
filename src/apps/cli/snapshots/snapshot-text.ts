/** Formats snapshots for people: one snapshot, the difference of two, and the result of a collection. */

import { count, size } from "../../../base/count-text.js";
import type { Difference } from "../../../features/worktree/snapshot/compare.js";
import type { SnapshotInfo } from "../../../features/worktree/snapshot/descriptor.js";
import type { Worktrees } from "../../../features/worktree/worktrees.js";
import type { Outcome } from "../command.js";
import type { Screen } from "../output/screen.js";
import { columns } from "../output/text.js";

export function infoOutcome(info: SnapshotInfo): Outcome {
  const { warnings, ...facts } = info;
  const rows = Object.entries(facts).map(([name, value]): readonly [string, string] => [
    name,
    Array.isArray(value) ? value.join(" ") : String(value ?? "-"),
  ]);
  return {
    data: info,
    text: (screen) => columns(rows, screen.width),
    notes: warnings.map((warning) => `warning: ${warning}`),
  };
}

export function freedText({ bytes, folders, objects, staged }: Awaited<ReturnType<Worktrees["gc"]>>): string {
  if (bytes === 0 && folders === 0 && staged === 0) return "nothing to remove";
  return `freed ${size(bytes)}: ${count(folders, "snapshot")}, ${count(objects, "pack or large file", "packs and large files")}, ${staged} unfinished`;
}

const SIGNS = {
  added: ["+", "green"],
  removed: ["-", "red"],
  changed: ["~", "yellow"],
  metadata: ["m", "dim"],
} as const;

export function diffOutcome(differences: readonly Difference[]): Outcome {
  return {
    data: { differences, next: null },
    text: (screen) => differences.map((each) => line(each, screen)).join("\n"),
    notes: [summary(differences)],
  };
}

function line({ change, path, kind, size_before: before, size_after: after }: Difference, screen: Screen): string {
  const [sign, style] = SIGNS[change];
  const sizes = [before, after].filter((each) => each !== null).map(size);
  const told = change === "metadata" || sizes.length === 0 ? "" : `  ${sizes.join(" -> ")}`;
  return `${screen.paint(style, `${sign} ${shown(path)}${kind === "folder" ? "/" : ""}`)}${told}`;
}

/** A name with control characters must not draw on the terminal. */
function shown(path: string): string {
  return /\p{Cc}/u.test(path) ? JSON.stringify(path) : path;
}

function summary(differences: readonly Difference[]): string {
  const number = (change: Difference["change"]): number => differences.filter((each) => each.change === change).length;
  const grown = differences.reduce((sum, each) => sum + (each.size_after ?? 0) - (each.size_before ?? 0), 0);
  const sign = grown < 0 ? "-" : "+";
  return `${number("added")} added, ${number("removed")} removed, ${number("changed")} changed, ${number("metadata")} with another mode or time; ${sign}${size(Math.abs(grown))}`;
}
