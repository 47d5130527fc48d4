/** Locks of deliverable folders. */
import type { ArgumentRow, CommandRow, FlagRow } from "../row.js";

const DIR: ArgumentRow = { name: "DIR", help: "the deliverable's folder" };
const TTL: FlagRow = { name: "ttl", type: "duration", help: "length of the lease, 1m to 24h; default 30m" };
const TOKEN: FlagRow = {
  name: "token",
  type: "text",
  help: "the lease token; needed only by another OS user or owner than the one who locked it",
};

export const DELIVERABLES: readonly CommandRow[] = [
  {
    name: "deliverable lock",
    group: "deliverables",
    summary: "lock a folder before writing to it",
    about: [
      "Makes _LOCK.json in the folder, whole and in one step, or says who has it (exit code 75, with the report LOCK_CONTENTION in --json). A lock whose lease has expired, or whose process is dead, is taken over, and the log _LOCK.log.jsonl says so. Nothing outside the folder is written, and nothing else inside it is touched.",
      "The lock stays when this command ends: renew it before the lease is over, and unlock it on every path. With --pid it also ends when that process does.",
    ],
    args: [DIR],
    flags: [
      TTL,
      {
        name: "pid",
        type: "integer",
        value: "PID",
        help: "bind the lock to this process: when it is dead, the lock is free",
      },
      { name: "id", type: "text", value: "ID", help: "the deliverable's id; default the folder's name" },
    ],
    examples: [
      ["holdfast deliverable lock work/DEL-08-05 --owner agent:writer", "for half an hour"],
      [
        "holdfast deliverable lock work/DEL-08-05 --pid $$",
        "for as long as this shell lives, renewed or not at most 30m",
      ],
    ],
    load: () => import("../commands/deliverable-lock.js"),
  },
  {
    name: "deliverable unlock",
    group: "deliverables",
    summary: "free a folder that you have locked",
    args: [DIR],
    flags: [
      {
        name: "terminate",
        type: "boolean",
        help: "also remove what is kept in .holdfast/, before the folder is deleted or archived; the log stays",
      },
      TOKEN,
    ],
    examples: [["holdfast deliverable unlock work/DEL-08-05", "done, or given up"]],
    load: () => import("../commands/deliverable-unlock.js"),
  },
  {
    name: "deliverable renew",
    group: "deliverables",
    summary: "extend the lease on a folder from now on",
    args: [DIR],
    flags: [{ ...TTL, help: "a new length of the lease; default as before" }, TOKEN],
    examples: [["holdfast deliverable renew work/DEL-08-05", "before the half hour is over"]],
    load: () => import("../commands/deliverable-renew.js"),
  },
  {
    name: "deliverable status",
    group: "deliverables",
    summary: "who has locked a folder, and whether that process still lives",
    about: [
      "Takes no lock and writes nothing. Exit code 0 whatever the state; --json has it in data.deliverable.state.",
    ],
    args: [DIR],
    examples: [["holdfast deliverable status work/DEL-08-05", "is it free?"]],
    load: () => import("../commands/deliverable-status.js"),
  },
  {
    name: "deliverable recover",
    group: "deliverables",
    summary: "end a lock whose holder is gone, or that cannot be read",
    about: [
      "Ends the lock when its lease has expired, its process is dead, it came with a copied folder, or its file is corrupt; the log says who did it and why. A lock whose holder is not gone is left alone (exit code 75). The folder is free afterwards.",
    ],
    args: [DIR],
    examples: [["holdfast deliverable recover work/DEL-08-05", "the agent crashed"]],
    load: () => import("../commands/deliverable-recover.js"),
  },
];
