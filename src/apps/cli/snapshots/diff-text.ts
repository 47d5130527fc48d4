/** Shows the differences between two snapshots, a line each. */
import type { Difference } from "../../../features/worktree/snapshot/compare.js";
import type { Outcome } from "../command.js";
import type { Screen } from "../output/screen.js";
import { size } from "../output/text.js";

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
  const count = (change: Difference["change"]): number => differences.filter((each) => each.change === change).length;
  const grown = differences.reduce((sum, each) => sum + (each.size_after ?? 0) - (each.size_before ?? 0), 0);
  const sign = grown < 0 ? "-" : "+";
  return `${count("added")} added, ${count("removed")} removed, ${count("changed")} changed, ${count("metadata")} with another mode or time; ${sign}${size(Math.abs(grown))}`;
}
