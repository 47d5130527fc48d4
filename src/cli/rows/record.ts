/** The record of what happened. */
import type { CommandRow, FlagRow } from "../row.js";

const FILTERS: readonly FlagRow[] = [
  { name: "prefix", type: "text", value: "KEY", help: "only this key and what is below it" },
  { name: "owner", type: "text", value: "ID", help: "only what this owner did" },
  { name: "event", type: "text", help: "only this event, such as granted, stolen, broken" },
  { name: "since", type: "time", help: "not before: 2026-01-31T12:00:00Z, or 15m for that long ago" },
  { name: "until", type: "time", help: "not after" },
  { name: "text", type: "text", help: "only entries in which this occurs, anywhere" },
];

export const RECORD: readonly CommandRow[] = [
  {
    name: "audit list",
    group: "record",
    summary: "what happened, in the order of time",
    args: [],
    flags: [
      ...FILTERS,
      { name: "limit", type: "integer", help: "at most this many, 1 to 50000; default 1000" },
      { name: "after", type: "integer", help: "leave out this many at the beginning: data.next of an earlier page" },
      { name: "lines", type: "boolean", help: "JSON lines, an entry each, and no document around them" },
    ],
    examples: [
      ["holdfast audit list --event stolen --since 24h", "who was taken over from today?"],
      ["holdfast audit list --lines > audit.jsonl", "to keep"],
    ],
    load: () => import("../commands/audit-list.js"),
  },
  {
    name: "audit tail",
    group: "record",
    summary: "what happened last, and with --follow what happens",
    about: ["With --follow it ends at Ctrl-C, and --json gives JSON lines, an entry each."],
    args: [],
    flags: [
      ...FILTERS,
      { name: "limit", type: "integer", help: "how many to begin with; default 20" },
      { name: "follow", type: "boolean", short: "f", help: "go on as entries come" },
    ],
    examples: [["holdfast audit tail --follow --prefix project:alpha", "watch a project"]],
    load: () => import("../commands/audit-tail.js"),
  },
  {
    name: "audit verify",
    group: "record",
    summary: "is the record as it was written?",
    about: ["Re-reads the hash chains and names the first bad entry of each. Exit code 65 when there is one."],
    args: [],
    flags: [{ name: "prefix", type: "text", value: "KEY", help: "only the chain this key belongs to" }],
    examples: [["holdfast audit verify", "nothing edited, removed or cut off?"]],
    load: () => import("../commands/audit-verify.js"),
  },
  {
    name: "policy explain",
    group: "record",
    summary: "which locks an operation needs",
    about: [
      "Takes none. Without an operation it lists them all. Stops instead of guessing: an operation nobody knows, or a scope that is missing or unclear, is exit code 86.",
    ],
    args: [
      { name: "OPERATION", help: "such as map.calibrate", optional: true },
      { name: "ID", help: "what it is about: project=alpha map=m1", optional: true, many: true },
    ],
    flags: [{ name: "objects", type: "integer", help: "how many objects it touches, where that decides" }],
    examples: [["holdfast policy explain map.calibrate project=alpha map=m1", "what would be locked?"]],
    load: () => import("../commands/policy-explain.js"),
  },
  {
    name: "approve",
    group: "record",
    summary: "lets an operation that cannot be undone happen once",
    about: [
      "Prints a token. Whoever performs the operation shows it; it works once, and not after its time. Only a user or an admin approves. Names of owners are declared by the caller: this is no access control.",
    ],
    args: [
      { name: "OPERATION", help: "such as map.delete" },
      { name: "ID", help: "what it is about: project=alpha map=m1", optional: true, many: true },
    ],
    flags: [
      { name: "by", type: "text", value: "ID", help: "who approves: user:NAME or admin:NAME; default the owner" },
      { name: "ttl", type: "duration", help: "how long it may be used; default 15m" },
      { name: "reason", type: "text", help: "why, for the record" },
    ],
    examples: [["holdfast approve map.delete project=alpha map=m1 --by user:ann", "once, in the next 15 minutes"]],
    load: () => import("../commands/approve.js"),
  },
];
