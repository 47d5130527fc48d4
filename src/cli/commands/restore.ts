/** `holdfast restore ID --to DIR | --inplace`, and finishing or undoing one that was interrupted. */
import { resolve } from "node:path";
import { invalidArgument } from "../../support/errors.js";
import type { RestoredInPlace } from "../../worktree/restore/in-place.js";
import type { Worktrees } from "../../worktree/worktrees.js";
import type { Context, Outcome } from "../context.js";
import { openForWriting, presenting, progressLine } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags } = context;
  const ways = ["to", "inplace", "resume", "revert"].filter((name) => flags.has(name));
  const [way] = ways;
  if (way === undefined || ways.length > 1)
    throw invalidArgument("where", "say one of --to DIR, --inplace, --resume NAME, --revert NAME");
  const worktrees = await openForWriting(context);
  if (way === "resume" || way === "revert") return settle(worktrees, flags.text(way) ?? "", way === "revert");
  const [id] = context.args("ID");
  if (id === undefined) throw invalidArgument("ID", "which snapshot?", "holdfast history");
  const progress = progressLine(context, "restoring");
  const options = {
    ...(progress.onProgress === undefined ? {} : { onProgress: progress.onProgress }),
    signal: context.signal,
  };
  try {
    if (way === "inplace") {
      const name = flags.text("worktree") ?? worktrees.info(id).worktree_id;
      return inPlace(await worktrees.restore.inPlace(id, name, { ...options, ...(await presenting(context, name)) }));
    }
    const name = flags.text("name");
    const to = resolve(context.cwd, flags.text("to") ?? "");
    const worktree = await worktrees.restore.toNew(id, to, { ...options, ...(name === undefined ? {} : { name }) });
    return { data: { worktree }, text: () => `restored to ${worktree.path}, worktree ${worktree.worktree_id}` };
  } finally {
    progress.end();
  }
}

async function settle(worktrees: Worktrees, name: string, revert: boolean): Promise<Outcome> {
  const restored = await worktrees.restore.settle(name, { revert });
  if (restored !== null) return inPlace(restored);
  const undo = `a restore that is over is undone by its rescue snapshot: holdfast history ${name}, then holdfast restore ID --inplace`;
  return {
    data: { restored: null },
    text: () => `nothing was interrupted in ${name}`,
    notes: revert ? [undo] : [],
  };
}

function inPlace(restored: RestoredInPlace): Outcome {
  return {
    data: { restored },
    text: () => `${restored.worktree_id} is snapshot ${restored.snapshot_id} again`,
    notes: [
      `what was there before is snapshot ${restored.rescue_id}; to go back: holdfast restore ${restored.rescue_id} --inplace`,
      ...restored.kept.map(({ at }) => `not in any snapshot, so kept: ${at}`),
    ],
  };
}
