/** Restores a snapshot to a new folder or in place, and finishes or undoes a restore that was interrupted. */
import { resolve } from "node:path";
import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { RestoredInPlace } from "../../../features/worktree/restore/in-place.js";
import type { Worktrees } from "../../../features/worktree/worktrees.js";
import type { ContextWith, Outcome } from "../command.js";
import { openForWriting, presenting, progressLine } from "./worktrees.js";

interface RestoreFlags {
  readonly to: string | undefined;
  readonly name: string | undefined;
  readonly inplace: boolean;
  readonly worktree: string | undefined;
  readonly resume: string | undefined;
  readonly revert: string | undefined;
  readonly token: string | undefined;
  readonly wait: string | undefined;
}

export async function restoreSnapshot(
  context: ContextWith<RestoreFlags, { readonly ID: string | undefined }>,
): Promise<Outcome> {
  const { to, name, inplace, worktree: into, resume, revert } = context.flags;
  const ways = [to, inplace || undefined, resume, revert].filter((way) => way !== undefined);
  if (ways.length !== 1) throw invalidArgument("where", "say one of --to DIR, --inplace, --resume NAME, --revert NAME");
  const worktrees = await openForWriting(context);
  const interrupted = resume ?? revert;
  if (interrupted !== undefined) return settle(worktrees, interrupted, revert !== undefined);
  const { ID: id } = context.args;
  if (id === undefined) throw invalidArgument("ID", "which snapshot?", "holdfast history");
  const progress = progressLine(context, "restoring");
  const options = { ...given({ onProgress: progress.onProgress }), signal: context.signal };
  try {
    if (to === undefined) {
      const own = into ?? worktrees.info(id).worktree_id;
      return inPlace(await worktrees.restore.inPlace(id, own, { ...options, ...(await presenting(context, own)) }));
    }
    const folder = resolve(context.cwd, to);
    const worktree = await worktrees.restore.toNew(id, folder, { ...options, ...given({ name }) });
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
