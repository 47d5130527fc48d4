/** Names the options of each call on worktrees. */
import type { OptionNames } from "../../base/check-options.js";
import type { Presenting } from "./worktree-lock.js";
import type { Progressing, TakeOptions, Worktrees, WorktreesOptions } from "./worktrees.js";

type Last<F> = F extends (...given: infer A) => unknown
  ? Required<A> extends [...unknown[], infer L]
    ? L
    : never
  : never;
type Trees = Worktrees["trees"];
type Restore = Worktrees["restore"];

const PRESENTING: OptionNames<Presenting> = { lease: true, token: true, wait: true };
const PROGRESSING: OptionNames<Progressing> = { signal: true, onProgress: true };

export const OPEN: OptionNames<WorktreesOptions> = { root: true, sharedInPlace: true, threads: true };
export const ADD: OptionNames<Last<Trees["add"]>> = { path: true, mode: true };
export const REMOVE: OptionNames<Last<Trees["remove"]>> = { ...PRESENTING, snapshots: true };
export const TAKE: OptionNames<TakeOptions> = {
  ...PRESENTING,
  ...PROGRESSING,
  note: true,
  tags: true,
  consistency: true,
};
export const LIST: OptionNames<Last<Worktrees["list"]>> = { worktree: true };
export const VERIFY: OptionNames<Last<Worktrees["verify"]>> = { signal: true };
export const TO_NEW: OptionNames<Last<Restore["toNew"]>> = { ...PROGRESSING, name: true };
export const IN_PLACE: OptionNames<Last<Restore["inPlace"]>> = { ...PRESENTING, ...PROGRESSING };
export const SETTLE: OptionNames<Last<Restore["settle"]>> = { revert: true };
export const GC: OptionNames<Last<Worktrees["gc"]>> = { wait: true };
export const CHECK: OptionNames<Last<Worktrees["check"]>> = { repair: true };
