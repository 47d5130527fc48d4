/** Locks: taking, keeping, giving back, looking. */
import type { ArgumentRow, CommandRow } from "../row.js";

const KEY: ArgumentRow = { name: "KEY", help: "the lock, such as project:alpha/map:m1 or path/src/api" };

export const LOCKS: readonly CommandRow[] = [
  {
    name: "lock status",
    group: "locks",
    summary: "who holds a lock, who waits for it",
    about: ["Takes no lock and creates nothing. Exit code 0 whatever the state; --json has it in data.state."],
    args: [KEY],
    examples: [["holdfast lock status project:alpha", "is it free?"]],
    load: () => import("../commands/lock-status.js"),
  },
];
