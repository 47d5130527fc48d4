/**
 * Functions that the commands on worktrees share: they open the worktrees, choose the one that is meant, find its lock,
 * and show progress.
 */
import { sep } from "node:path";
import { count, size } from "../../../base/count-text.js";
import { HoldfastError, invalidArgument, isHoldfastError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { reattachAll } from "../../../client/workspace/detached-grants.js";
import { openWorktrees } from "../../../features/worktree/open-worktrees.js";
import type { Progress, WorktreeInfo, Worktrees } from "../../../features/worktree/worktrees.js";
import { WORKTREE } from "../../../lock/reserved-kinds.js";
import type { BaseContext, ContextWith } from "../command.js";
import { tokenAround, tokenFiles } from "../locks/detached-grants.js";
import { type Column, grid } from "../output/grid.js";
import type { Screen } from "../output/screen.js";
import { span } from "../output/times.js";

/** For commands that change something. */
export async function openForWriting(context: BaseContext): Promise<Worktrees> {
  return openWorktrees(await context.openHoldfast(), { root: rootOf(context), ...configured(context) });
}

/** Creates nothing. */
export function openForReading(context: BaseContext): Promise<Worktrees> {
  return openWorktrees(null, { root: rootOf(context) });
}

function configured(context: BaseContext): { sharedInPlace?: boolean } {
  const { sharedInPlace } = context.settings().config;
  return given({ sharedInPlace });
}

function rootOf(context: BaseContext): string {
  const { root } = context.workspace();
  if (root === null)
    throw new HoldfastError("E_CONFIG", "worktrees need a workspace, and there is none around", {
      reason: "no_workspace",
      next: ["holdfast init"],
    });
  return root;
}

/** Said, or the one the current folder lies in, or the only one. */
export function chooseWorktree(context: BaseContext, worktrees: Worktrees, said: string | undefined): string {
  if (said !== undefined) return said;
  const all = worktrees.trees.list();
  const around = all.find(({ path }) => `${context.cwd}${sep}`.startsWith(`${path}${sep}`));
  const [only, other] = all;
  if (around !== undefined) return around.worktree_id;
  if (only !== undefined && other === undefined) return only.worktree_id;
  if (only === undefined)
    throw invalidArgument("WORKTREE", "there is none yet", "holdfast worktree add NAME --path DIR");
  const names = all.map((each) => each.worktree_id).join(", ");
  throw invalidArgument("WORKTREE", `say which one: ${names}`, "holdfast worktree list");
}

/** The lease the caller has on the worktree, if any: said, from the environment, or kept for this user and owner. */
export async function presenting(
  context: ContextWith<{ readonly token: string | undefined; readonly wait: string | undefined }>,
  worktree: string,
): Promise<{ token?: string; wait?: string }> {
  const { wait, token: said } = context.flags;
  const waiting = given({ wait });
  if (said !== undefined) return { token: said };
  const holdfast = await context.openHoldfast();
  const key = WORKTREE + worktree;
  const around = tokenAround(context);
  try {
    if (around !== undefined) {
      await holdfast.borrow(key, around);
      return { token: around };
    }
  } catch (error) {
    if (!isHoldfastError(error, "E_LOCK_NOT_HELD")) throw error;
  }
  try {
    const [found] = await reattachAll(holdfast, tokenFiles(context, holdfast), [key], {
      said: undefined,
      around: undefined,
    });
    return found === undefined ? waiting : { token: found.token };
  } catch (error) {
    if (isHoldfastError(error, "E_LOCK_NOT_HELD")) return waiting;
    throw error;
  }
}

const WORKTREES: readonly Column<WorktreeInfo>[] = [
  { title: "NAME", cell: (each) => each.worktree_id },
  { title: "MODE", cell: (each) => (each.mode === "shared" ? "shared ! high risk" : each.mode) },
  { title: "STANDS ON", cell: (each) => each.head ?? "-", drop: 1 },
  { title: "PATH", cell: (each) => each.path, least: 12 },
];

export function worktreeTable(worktrees: readonly WorktreeInfo[], screen: Screen): string {
  return grid(WORKTREES, worktrees, screen);
}

/** How much of it is done, how fast, and how long it will take; drawn over itself on a terminal, else silent. */
export function progressLine(
  { screen }: BaseContext,
  verb: string,
): { onProgress?: (progress: Progress) => void; end(): void } {
  const { stderr } = process;
  if (stderr.isTTY !== true || screen.json || screen.quiet) return { end: () => undefined };
  const startedAt = performance.now();
  let drawnAt = 0;
  return {
    onProgress({ files, bytes, expectedBytes }) {
      const now = performance.now();
      if (now - drawnAt < 100) return;
      drawnAt = now;
      const rate = bytes / Math.max(0.001, (now - startedAt) / 1000);
      const line = progressText(verb, { files, bytes, expectedBytes }, rate, (stderr.columns || 80) - 1);
      stderr.write(`\r\u001b[K${line}`);
    },
    end: () => void stderr.write("\r\u001b[K"),
  };
}

/** As much of it as fits into a line: one that wraps would not be drawn over. */
export function progressText(
  verb: string,
  { files, bytes, expectedBytes }: Progress,
  rate: number,
  room: number,
): string {
  const isKnown = expectedBytes !== null && expectedBytes > 0;
  const share = isKnown ? bytes / expectedBytes : 0;
  const left = isKnown && rate > 0 ? [`${span(Math.max(0, expectedBytes - bytes) / rate)} left`] : [];
  const percent = isKnown ? ` ${Math.round(Math.min(1, share) * 100)} %` : "";
  const read = count(files, "file");
  const lines = [
    `${verb}${isKnown ? ` ${bar(share)}` : ""} ${[read, size(bytes), `${size(rate)}/s`, ...left].join(", ")}`,
    `${verb}${percent} ${[read, `${size(rate)}/s`, ...left].join(", ")}`,
    `${verb}${percent} ${[`${size(rate)}/s`, ...left].join(", ")}`,
    `${verb}${percent || ` ${read}`}`,
  ];
  return lines.find((line) => line.length <= room) ?? `${verb}${percent}`.slice(0, room);
}

const BAR = 20;

function bar(share: number): string {
  const filled = Math.round(Math.min(1, share) * BAR);
  return `[${"#".repeat(filled)}${".".repeat(BAR - filled)}]`;
}
