/** `holdfast worktree add NAME`. */
import { resolve } from "node:path";
import type { Context, Outcome } from "../context.js";
import { openForWriting } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const worktrees = await openForWriting(context);
  const path = context.flags.text("path");
  const mode = context.flags.text("mode") as "exclusive" | "shared" | undefined;
  const worktree = await worktrees.trees.add(context.arg("NAME"), {
    ...(path === undefined ? {} : { path: resolve(context.cwd, path) }),
    ...(mode === undefined ? {} : { mode }),
  });
  return {
    data: { worktree },
    text: () => `worktree ${worktree.worktree_id} is ${worktree.path} (${worktree.mode})`,
    notes: worktree.warnings,
  };
}
