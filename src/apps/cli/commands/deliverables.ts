/** The commands that lock the folders of deliverables. */
import { type ArgumentSpec, type Command, command, type FlagSpec } from "../command.js";

const DIR = { help: "the deliverable's folder" } as const satisfies ArgumentSpec;
const TTL = { type: "duration", help: "length of the lease, 1m to 24h; default 30m" } as const satisfies FlagSpec;
const TOKEN = {
  type: "text",
  help: "the lease token; needed only by another OS user or owner than the one who locked it",
} as const satisfies FlagSpec;

export const DELIVERABLES: readonly Command[] = [
  command({
    name: "deliverable lock",
    group: "deliverables",
    summary: "lock a folder before writing to it",
    about: [
      "Makes _LOCK.json in the folder, whole and in one step, or says who has it (exit code 75, with the report LOCK_CONTENTION in --json). A lock whose lease has expired, or whose process is dead, is taken over, and the log _LOCK.log.jsonl says so. In a workspace its store is asked first: the id and the path of the folder are held there as well. Nothing else is written outside the folder, and nothing else inside it is touched.",
      "The lock stays when this command ends: renew it before the lease is over, and unlock it on every path. With --pid it also ends when that process does.",
    ],
    args: { DIR },
    flags: {
      ttl: TTL,
      pid: {
        type: "integer",
        value: "PID",
        help: "bind the lock to this process: when it is dead, the lock is free",
      },
      id: { type: "text", value: "ID", help: "the deliverable's id; default the folder's name" },
    },
    examples: [
      ["holdfast deliverable lock work/DEL-08-05 --owner agent:writer", "for half an hour"],
      [
        "holdfast deliverable lock work/DEL-08-05 --pid $$",
        "for as long as this shell lives, renewed or not at most 30m",
      ],
    ],
    async run(context) {
      const { lockDeliverable } = await import("../deliverables/lock-deliverables.js");
      return lockDeliverable(context);
    },
  }),
  command({
    name: "deliverable unlock",
    group: "deliverables",
    summary: "free a folder that you have locked",
    args: { DIR },
    flags: {
      terminate: {
        type: "boolean",
        help: "also remove what is kept in .holdfast/, before the folder is deleted or archived; the log stays",
      },
      token: TOKEN,
    },
    examples: [["holdfast deliverable unlock work/DEL-08-05", "done, or given up"]],
    async run(context) {
      const { unlockDeliverable } = await import("../deliverables/lock-deliverables.js");
      return unlockDeliverable(context);
    },
  }),
  command({
    name: "deliverable renew",
    group: "deliverables",
    summary: "extend the lease on a folder from now on",
    args: { DIR },
    flags: { ttl: { ...TTL, help: "a new length of the lease; default as before" }, token: TOKEN },
    examples: [["holdfast deliverable renew work/DEL-08-05", "before the half hour is over"]],
    async run(context) {
      const { renewDeliverable } = await import("../deliverables/lock-deliverables.js");
      return renewDeliverable(context);
    },
  }),
  command({
    name: "deliverable status",
    group: "deliverables",
    summary: "who has locked a folder, and whether that process still lives",
    about: [
      "Takes no lock and writes nothing. Exit code 0 whatever the state; --json has it in data.deliverable.state.",
    ],
    args: { DIR },
    examples: [["holdfast deliverable status work/DEL-08-05", "is it free?"]],
    async run(context) {
      const { lookAtDeliverable } = await import("../deliverables/lock-deliverables.js");
      return lookAtDeliverable(context);
    },
  }),
  command({
    name: "deliverable recover",
    group: "deliverables",
    summary: "end a lock whose holder is gone, or that cannot be read",
    about: [
      "Ends the lock when its lease has expired, its process is dead, it came with a copied folder, or its file is corrupt; the log says who did it and why. A lock whose holder is not gone is left alone (exit code 75). The folder is free afterwards.",
    ],
    args: { DIR },
    examples: [["holdfast deliverable recover work/DEL-08-05", "the agent crashed"]],
    async run(context) {
      const { recoverDeliverable } = await import("../deliverables/lock-deliverables.js");
      return recoverDeliverable(context);
    },
  }),
];
