/** Locks: taking, keeping, giving back, looking. */
import type { ArgumentRow, CommandRow, FlagRow } from "../row.js";

const KEY: ArgumentRow = { name: "KEY", help: "the lock, such as project:alpha/map:m1 or path/src/api" };
const KEYS: ArgumentRow = { ...KEY, help: "the locks, such as project:alpha path/src/api", many: true };

const MODE: FlagRow = {
  name: "mode",
  type: "text",
  choices: ["read", "upgradeable", "write"],
  help: "read shares with readers, upgradeable stands beside them, write excludes all; default write",
};
const TTL: FlagRow = {
  name: "ttl",
  type: "duration",
  help: "how long it lasts without renewal, 1s to 24h; default 15m",
};
const WAIT: FlagRow = {
  name: "wait",
  type: "duration",
  help: "how long to stand in line, 0 to 24h; default 5s, or HOLDFAST_LOCK_TIMEOUT seconds",
};
const META: FlagRow = { name: "meta", type: "pairs", help: "a remark kept in the record" };
const PID: FlagRow = {
  name: "pid",
  type: "integer",
  help: "the process it belongs to: the lock is free when that process is proven dead",
};
const TOKEN: FlagRow = {
  name: "token",
  type: "text",
  help: "the lease token; else HOLDFAST_LEASE_TOKEN, else the one kept for you",
};
const FENCE: FlagRow = {
  name: "fence",
  type: "integer",
  help: "which one, when you hold the key several times: its fencing token, as lock list shows it",
};
const PRESENTED: FlagRow = {
  name: "token",
  type: "text",
  repeat: true,
  help: "a lease token of what you hold already, so that you are no stranger to it",
};

const FOUND_AGAIN =
  "A lock taken on the command line is found again by its key, for the same user and owner; no token is needed. --token, HOLDFAST_LEASE_TOKEN or --fence say which grant is meant.";

export const LOCKS: readonly CommandRow[] = [
  {
    name: "lock acquire",
    group: "locks",
    summary: "take one lock or several, all or none",
    about: [
      "The command ends and the lock stays until it is released or its lease is over (--ttl). Nobody renews it for you; to hold a lock while a command runs, use holdfast run.",
      "The lease token is kept in your state folder, mode 0600, and shown with --json only. Asking again for what you hold is asking as a stranger, unless you present its token.",
    ],
    args: [KEYS],
    flags: [
      MODE,
      TTL,
      WAIT,
      { name: "permits", type: "integer", help: "makes the key a semaphore with this many places" },
      META,
      PID,
      PRESENTED,
    ],
    examples: [
      ["holdfast lock acquire project:alpha --ttl 30m", "for half an hour"],
      ["holdfast lock acquire path/src/api path/src/db --wait 2m", "both or none, waiting in line"],
      ["holdfast lock acquire project:alpha --pid $$", "free again when this shell ends"],
    ],
    load: () => import("../commands/lock-acquire.js"),
  },
  {
    name: "lock renew",
    group: "locks",
    summary: "make a lock last longer",
    about: [FOUND_AGAIN],
    args: [KEYS],
    flags: [{ ...TTL, help: "a new length from now on, 1s to 24h; default as before" }, TOKEN, FENCE],
    examples: [["holdfast lock renew project:alpha --ttl 1h", "an hour from now"]],
    load: () => import("../commands/lock-renew.js"),
  },
  {
    name: "lock upgrade",
    group: "locks",
    summary: "turn an upgradeable lock into a write lock",
    about: [
      "Waits until no other reader remains. The lock gets a new fencing token. What is a write lock already stays as it is.",
      FOUND_AGAIN,
    ],
    args: [KEYS],
    flags: [WAIT, TOKEN, FENCE],
    examples: [["holdfast lock upgrade project:alpha --wait 1m", "when the readers are gone"]],
    load: () => import("../commands/lock-upgrade.js"),
  },
  {
    name: "lock downgrade",
    group: "locks",
    summary: "turn a write lock into a read lock, letting no writer in between",
    about: ["What is a read lock already stays as it is.", FOUND_AGAIN],
    args: [KEYS],
    flags: [TOKEN, FENCE],
    examples: [["holdfast lock downgrade project:alpha", "let readers in"]],
    load: () => import("../commands/lock-downgrade.js"),
  },
  {
    name: "lock release",
    group: "locks",
    summary: "give locks back",
    about: [FOUND_AGAIN],
    args: [KEYS],
    flags: [TOKEN, FENCE],
    examples: [["holdfast lock release project:alpha", "done"]],
    load: () => import("../commands/lock-release.js"),
  },
  {
    name: "lock verify",
    group: "locks",
    summary: "is this fencing token still the current one?",
    about: [
      "Exit code 0 if so; 82 when somebody else has taken over, 80 when the lease is over, 81 when nothing is held.",
    ],
    args: [KEY],
    flags: [{ name: "fence", type: "integer", required: true, help: "the fencing token" }],
    examples: [["holdfast lock verify project:alpha --fence 1763200000001", "before writing elsewhere"]],
    load: () => import("../commands/lock-verify.js"),
  },
  {
    name: "lock steal",
    group: "locks",
    summary: "take over from a holder that is gone, in one step",
    about: [
      "Only what is recoverable: the lease is over, or the process is proven dead. A plain acquire does the same; this one fails when there is nothing to take over.",
    ],
    args: [KEY],
    flags: [MODE, TTL, META, PID],
    examples: [["holdfast lock steal project:alpha", "its holder was killed"]],
    load: () => import("../commands/lock-steal.js"),
  },
  {
    name: "lock break",
    group: "locks",
    summary: "end a lock that still looks alive",
    about: [
      "For people: owners of kind user or admin. The reason goes on record, and the fence is raised, so that the ousted holder can commit nothing.",
    ],
    args: [KEY],
    flags: [{ name: "reason", type: "text", required: true, help: "why, for the record" }],
    examples: [['holdfast lock break project:alpha --reason "its machine is gone for good"', "a person decides"]],
    load: () => import("../commands/lock-break.js"),
  },
  {
    name: "lock status",
    group: "locks",
    summary: "who holds a lock, who waits for it",
    about: [
      "Takes no lock and creates nothing. Exit code 0 whatever the state; --json has it in data.state: free, held or expired.",
    ],
    args: [KEY],
    examples: [["holdfast lock status project:alpha", "is it free?"]],
    load: () => import("../commands/lock-status.js"),
  },
  {
    name: "lock list",
    group: "locks",
    summary: "what is held, in the order of keys",
    args: [],
    flags: [
      { name: "prefix", type: "text", value: "KEY", help: "only this key and what is below it" },
      { name: "limit", type: "integer", help: "at most this many, 1 to 50000; default 1000" },
      { name: "after", type: "text", value: "CURSOR", help: "go on behind an earlier page: its data.next" },
    ],
    examples: [["holdfast lock list --prefix project:alpha", "everything in a project"]],
    load: () => import("../commands/lock-list.js"),
  },
  {
    name: "lock wait",
    group: "locks",
    summary: "wait until a lock could be taken, without taking it",
    about: [
      "What is recoverable on the way is ended, as an acquire would do it. Somebody else may be faster afterwards: to be sure, acquire.",
    ],
    args: [KEY],
    flags: [MODE, WAIT],
    examples: [["holdfast lock wait project:alpha --wait 10m", "until it is free"]],
    load: () => import("../commands/lock-wait.js"),
  },
  {
    name: "lock watch",
    group: "locks",
    summary: "see locks change",
    about: [
      "On a terminal a live table; else a line for each change, with --json a JSON line: the status of KEY, or all grants. Ends at Ctrl-C.",
    ],
    args: [{ ...KEY, optional: true, help: "only this lock, what is above it and below it" }],
    examples: [["holdfast lock watch", "everything, live"]],
    load: () => import("../commands/lock-watch.js"),
  },
  {
    name: "explain",
    group: "locks",
    summary: "holders, line, who waits for whom, and what happened lately",
    args: [KEY],
    flags: [{ name: "history", type: "integer", help: "how many entries of the record to show; default 10" }],
    examples: [["holdfast explain project:alpha", "why do I have to wait?"]],
    load: () => import("../commands/explain.js"),
  },
];
