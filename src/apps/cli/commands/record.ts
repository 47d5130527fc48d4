/** The commands of the audit trail, the policy and approvals. */
import { type Command, command, type FlagSpecs } from "../command.js";

const FILTERS = {
  prefix: { type: "text", value: "KEY", help: "only this key and what is below it" },
  owner: { type: "text", value: "ID", help: "only what this owner did" },
  event: { type: "text", help: "only this event, such as granted, stolen, broken" },
  since: { type: "time", help: "not before: 2026-01-31T12:00:00Z, or 15m for that long ago" },
  until: { type: "time", help: "not after" },
  text: { type: "text", help: "only entries in which this occurs, anywhere" },
} as const satisfies FlagSpecs;

export const RECORD: readonly Command[] = [
  command({
    name: "audit list",
    group: "record",
    summary: "what happened, in the order of time",
    args: {},
    flags: {
      ...FILTERS,
      limit: { type: "integer", help: "at most this many, 1 to 50000; default 1000" },
      after: { type: "integer", help: "leave out this many at the beginning: data.next of an earlier page" },
      lines: { type: "boolean", help: "JSON lines, an entry each, and no document around them" },
    },
    examples: [
      ["holdfast audit list --event stolen --since 24h", "who was taken over from today?"],
      ["holdfast audit list --lines > audit.jsonl", "to keep"],
    ],
    async run(context) {
      const { listAudit } = await import("../record/read-audit.js");
      return listAudit(context);
    },
  }),
  command({
    name: "audit tail",
    group: "record",
    summary: "what happened last, and with --follow what happens",
    about: ["With --follow it ends at Ctrl-C, and --json gives JSON lines, an entry each."],
    args: {},
    flags: {
      ...FILTERS,
      limit: { type: "integer", help: "how many to begin with; default 20" },
      follow: { type: "boolean", short: "f", help: "go on as entries come" },
    },
    examples: [["holdfast audit tail --follow --prefix project:alpha", "watch a project"]],
    async run(context) {
      const { tailAudit } = await import("../record/read-audit.js");
      return tailAudit(context);
    },
  }),
  command({
    name: "audit verify",
    group: "record",
    summary: "is the record as it was written?",
    about: ["Re-reads the hash chains and names the first bad entry of each. Exit code 65 when there is one."],
    args: {},
    flags: { prefix: { type: "text", value: "KEY", help: "only the chain this key belongs to" } },
    examples: [["holdfast audit verify", "nothing edited, removed or cut off?"]],
    async run(context) {
      const { verifyAudit } = await import("../record/read-audit.js");
      return verifyAudit(context);
    },
  }),
  command({
    name: "policy explain",
    group: "record",
    summary: "which locks an operation needs",
    about: [
      "Takes none. Without an operation it lists them all. Stops instead of guessing: an operation nobody knows, or a scope that is missing or unclear, is exit code 86.",
    ],
    args: {
      OPERATION: { help: "such as map.calibrate", optional: true },
      ID: { help: "what it is about: project=alpha map=m1", optional: true, many: true },
    },
    flags: { objects: { type: "integer", help: "how many objects it touches, where that decides" } },
    examples: [["holdfast policy explain map.calibrate project=alpha map=m1", "what would be locked?"]],
    async run(context) {
      const { explainPolicy } = await import("../record/explain-policy.js");
      return explainPolicy(context);
    },
  }),
  command({
    name: "approve",
    group: "record",
    summary: "lets an operation that cannot be undone happen once",
    about: [
      "Prints a token. Whoever performs the operation shows it; it works once, and not after its time. Only a user or an admin approves. Names of owners are declared by the caller: this is no access control.",
    ],
    args: {
      OPERATION: { help: "such as map.delete" },
      ID: { help: "what it is about: project=alpha map=m1", optional: true, many: true },
    },
    flags: {
      by: { type: "text", value: "ID", help: "who approves: user:NAME or admin:NAME; default the owner" },
      ttl: { type: "duration", help: "how long it may be used; default 15m" },
      reason: { type: "text", help: "why, for the record" },
    },
    examples: [["holdfast approve map.delete project=alpha map=m1 --by user:ann", "once, in the next 15 minutes"]],
    async run(context) {
      const { approveOperation } = await import("../record/approve-operation.js");
      return approveOperation(context);
    },
  }),
];
