/** `holdfast worktree list`. */
import type { WorktreeInfo } from "../../worktree/worktrees.js";
import type { Context, Outcome } from "../context.js";
import { type Column, grid } from "../grid.js";
import { openForReading } from "../worktrees.js";

const COLUMNS: readonly Column<WorktreeInfo>[] = [
  { title: "NAME", cell: (each) => each.worktree_id },
  { title: "MODE", cell: (each) => (each.mode === "shared" ? "shared ! high risk" : each.mode) },
  { title: "STANDS ON", cell: (each) => each.head ?? "-", drop: 1 },
  { title: "PATH", cell: (each) => each.path, least: 12 },
];

export async function run(context: Context): Promise<Outcome> {
  const worktrees = (await openForReading(context)).trees.list();
  return {
    data: { worktrees, next: null },
    text: (screen) => grid(COLUMNS, worktrees, screen),
    notes: worktrees.length === 0 ? ["no worktrees yet: holdfast worktree add NAME --path DIR"] : [],
  };
}
