/**
 * The table of all commands. To add one:
 *
 *   1. a `command({ … })` in `commands/<group>.ts`; the list of a new group goes into TABLE below,
 *   2. its `run`, which returns `{ data, text }` and prints nothing itself. A short one is written there; a longer one
 *      becomes a function in the folder of its subject (`locks/`, `board/`, …), in a module named after what it does. `run`
 *      imports all that it calls with `await import(…)`: the descriptions of all commands load at every start, and only one
 *      of them runs,
 *   3. `npm run docs`, which writes docs/cli.md again, and a test in `test/interfaces/cli/`.
 *
 * A module that a command starts as a thread or process of its own is an entry of the bundle: see scripts/build.mjs.
 */
import type { Command } from "./command.js";
import { BOARD } from "./commands/board.js";
import { DELIVERABLES } from "./commands/deliverables.js";
import { GATES } from "./commands/gates.js";
import { INTERFACES } from "./commands/interfaces.js";
import { ISSUES } from "./commands/issues.js";
import { JOBS } from "./commands/jobs.js";
import { LEASES } from "./commands/leases.js";
import { LOCKS } from "./commands/locks.js";
import { PUBLISH } from "./commands/publish.js";
import { RECORD } from "./commands/record.js";
import { RUN } from "./commands/run.js";
import { SET_UP } from "./commands/set-up.js";
import { SNAPSHOTS } from "./commands/snapshots.js";
import { WORKTREES } from "./commands/worktrees.js";

export const TABLE: readonly Command[] = [
  ...SET_UP,
  ...LOCKS,
  ...RUN,
  ...LEASES,
  ...PUBLISH,
  ...DELIVERABLES,
  ...ISSUES,
  ...GATES,
  ...BOARD,
  ...WORKTREES,
  ...SNAPSHOTS,
  ...JOBS,
  ...RECORD,
  ...INTERFACES,
];
