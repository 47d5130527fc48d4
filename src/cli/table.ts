/**
 * Every command, one row each. To add one:
 *
 *   1. a row in `rows/<group>.ts` (a new group's list goes into TABLE below),
 *   2. `commands/<its-name>.ts` exporting `run(context)`, which returns `{ data, text }` and prints nothing itself,
 *   3. `npm run docs`, which writes docs/cli.md anew, and a test in `test/cli/`.
 *
 * A module that a command starts as a thread or process of its own is an entry of the bundle: see scripts/build.mjs.
 */
import type { CommandRow } from "./row.js";
import { BOARD } from "./rows/board.js";
import { DELIVERABLES } from "./rows/deliverables.js";
import { FACES } from "./rows/faces.js";
import { JOBS } from "./rows/jobs.js";
import { LEASES } from "./rows/leases.js";
import { LOCKS } from "./rows/locks.js";
import { PUBLISH } from "./rows/publish.js";
import { RECORD } from "./rows/record.js";
import { RUN } from "./rows/run.js";
import { SET_UP } from "./rows/set-up.js";
import { WORKTREES } from "./rows/worktrees.js";

export const TABLE: readonly CommandRow[] = [
  ...SET_UP,
  ...LOCKS,
  ...RUN,
  ...LEASES,
  ...PUBLISH,
  ...DELIVERABLES,
  ...BOARD,
  ...WORKTREES,
  ...JOBS,
  ...RECORD,
  ...FACES,
];
