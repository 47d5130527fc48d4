/** The commands of locks: acquiring, renewing, releasing, listing, explaining and ending them. */

import { given } from "../../../base/given.js";
import { MODES } from "../../../lock/mode.js";
import { type ArgumentSpec, type Command, command, type FlagSpec } from "../command.js";

const KEY = { help: "the lock, such as project:alpha/map:m1 or path/src/api" } as const satisfies ArgumentSpec;
const KEYS = {
  ...KEY,
  help: "the locks, such as project:alpha path/src/api",
  many: true,
} as const satisfies ArgumentSpec;

const MODE = {
  type: "text",
  choices: MODES,
  help: "read shares with readers, upgradeable stands beside them, write excludes all; default write",
} as const satisfies FlagSpec;
const TTL = {
  type: "duration",
  help: "how long it lasts without renewal, 1s to 24h; default 15m",
} as const satisfies FlagSpec;
const WAIT = {
  type: "duration",
  help: "how long to stand in line, 0 to 24h; default 5s, or HOLDFAST_LOCK_TIMEOUT seconds",
} as const satisfies FlagSpec;
const META = { type: "pairs", help: "a remark kept in the record" } as const satisfies FlagSpec;
const PID = {
  type: "integer",
  help: "the process it belongs to: the lock is free when that process is proven dead",
} as const satisfies FlagSpec;
const TOKEN = {
  type: "text",
  help: "the lease token; else HOLDFAST_LEASE_TOKEN, else the one kept for you",
} as const satisfies FlagSpec;
const FENCE = {
  type: "integer",
  help: "which one, when you hold the key several times: its fencing token, as lock list shows it",
} as const satisfies FlagSpec;
const PRESENTED = {
  type: "text",
  repeat: true,
  help: "a lease token of what you hold already, so that you are no stranger to it",
} as const satisfies FlagSpec;

const FOUND_AGAIN =
  "A lock taken on the command line is found again by its key, for the same user and owner; no token is needed. --token, HOLDFAST_LEASE_TOKEN or --fence say which grant is meant.";

export const LOCKS: readonly Command[] = [
  command({
    name: "lock acquire",
    group: "locks",
    summary: "take one lock or several, all or none",
    about: [
      "The command ends and the lock stays until it is released or its lease is over (--ttl). Nobody renews it for you; to hold a lock while a command runs, use holdfast run.",
      "The lease token is kept in .holdfast/tokens/, for you alone, and shown with --json only. Asking again for what you hold is asking as a stranger, unless you present its token. Inside the run of an agent the command borrows the files that the agent's hook holds.",
    ],
    args: { KEY: KEYS },
    flags: {
      mode: MODE,
      ttl: TTL,
      wait: WAIT,
      permits: { type: "integer", help: "makes the key a semaphore with this many places" },
      meta: META,
      pid: PID,
      token: PRESENTED,
    },
    examples: [
      ["holdfast lock acquire project:alpha --ttl 30m", "for half an hour"],
      ["holdfast lock acquire path/src/api path/src/db --wait 2m", "both or none, waiting in line"],
      ["holdfast lock acquire project:alpha --pid $$", "free again when this shell ends"],
    ],
    async run(context) {
      const { acquireLocks } = await import("../locks/acquire.js");
      return acquireLocks(context);
    },
  }),
  command({
    name: "lock renew",
    group: "locks",
    summary: "make a lock last longer",
    about: [FOUND_AGAIN],
    args: { KEY: KEYS },
    flags: {
      ttl: { ...TTL, help: "a new length from now on, 1s to 24h; default as before" },
      token: TOKEN,
      fence: FENCE,
    },
    examples: [["holdfast lock renew project:alpha --ttl 1h", "an hour from now"]],
    async run(context) {
      const { grantsOf, grantsOutcome, inOrderOf, takeUpAll } = await import("../locks/detached-grants.js");
      const { found } = await takeUpAll(context);
      for (const { lease } of found) await lease.renew(context.flags.ttl);
      return grantsOutcome("renewed", inOrderOf(context.args.KEY, grantsOf(found)));
    },
  }),
  command({
    name: "lock upgrade",
    group: "locks",
    summary: "turn an upgradeable lock into a write lock",
    about: [
      "Waits until no other reader remains. The lock gets a new fencing token. What is a write lock already stays as it is.",
      FOUND_AGAIN,
    ],
    args: { KEY: KEYS },
    flags: { wait: WAIT, token: TOKEN, fence: FENCE },
    examples: [["holdfast lock upgrade project:alpha --wait 1m", "when the readers are gone"]],
    async run(context) {
      const { upgradeLocks } = await import("../locks/convert-locks.js");
      return upgradeLocks(context);
    },
  }),
  command({
    name: "lock downgrade",
    group: "locks",
    summary: "turn a write lock into a read lock, letting no writer in between",
    about: ["What is a read lock already stays as it is.", FOUND_AGAIN],
    args: { KEY: KEYS },
    flags: { token: TOKEN, fence: FENCE },
    examples: [["holdfast lock downgrade project:alpha", "let readers in"]],
    async run(context) {
      const { downgradeLocks } = await import("../locks/convert-locks.js");
      return downgradeLocks(context);
    },
  }),
  command({
    name: "lock release",
    group: "locks",
    summary: "give locks back",
    about: [FOUND_AGAIN],
    args: { KEY: KEYS },
    flags: { token: TOKEN, fence: FENCE },
    examples: [["holdfast lock release project:alpha", "done"]],
    async run(context) {
      const { releaseLocks } = await import("../locks/release.js");
      return releaseLocks(context);
    },
  }),
  command({
    name: "lock verify",
    group: "locks",
    summary: "is this fencing token still the current one?",
    about: [
      "Exit code 0 if so; 82 when somebody else has taken over, 80 when the lease is over, 81 when nothing is held.",
    ],
    args: { KEY },
    flags: { fence: { type: "integer", required: true, help: "the fencing token" } },
    examples: [["holdfast lock verify project:alpha --fence 1763200000001", "before writing elsewhere"]],
    async run({ args, flags, openHoldfast }) {
      const { leftOf } = await import("../locks/grants-text.js");
      const holdfast = await openHoldfast();
      const grant = await holdfast.verify(args.KEY, flags.fence);
      const { fencing_token: fence, resource, owner, mode } = grant;
      return {
        data: { grant },
        text: () => `${fence} is current on ${resource}: ${owner}, ${mode}, ${leftOf(grant)} left`,
      };
    },
  }),
  command({
    name: "lock steal",
    group: "locks",
    summary: "take over from a holder that is gone, in one step",
    about: [
      "Only what is recoverable: the lease is over, or the process is proven dead. A plain acquire does the same; this one fails when there is nothing to take over.",
    ],
    args: { KEY },
    flags: { mode: MODE, ttl: TTL, meta: META, pid: PID },
    examples: [["holdfast lock steal project:alpha", "its holder was killed"]],
    async run(context) {
      const { stealLock } = await import("../locks/steal-lock.js");
      return stealLock(context);
    },
  }),
  command({
    name: "lock break",
    group: "locks",
    summary: "end a lock that still looks alive",
    about: [
      "For people: owners of kind user or admin. The reason goes on record, and the fence is raised, so that the ousted holder can commit nothing.",
    ],
    args: { KEY },
    flags: { reason: { type: "text", required: true, help: "why, for the record" } },
    examples: [['holdfast lock break project:alpha --reason "its machine is gone for good"', "a person decides"]],
    async run({ args, flags, openHoldfast }) {
      const { grantsOutcome } = await import("../locks/detached-grants.js");
      const holdfast = await openHoldfast();
      return grantsOutcome("broken", await holdfast.break(args.KEY, { reason: flags.reason }));
    },
  }),
  command({
    name: "lock status",
    group: "locks",
    summary: "who holds a lock, who waits for it",
    about: [
      "Takes no lock and creates nothing. Exit code 0 whatever the state; --json has it in data.state: free, held or expired.",
    ],
    args: { KEY },
    examples: [["holdfast lock status project:alpha", "is it free?"]],
    async run(context) {
      const { lookAtLock } = await import("../locks/lock-status.js");
      return lookAtLock(context);
    },
  }),
  command({
    name: "lock list",
    group: "locks",
    summary: "what is held, in the order of keys",
    args: {},
    flags: {
      prefix: { type: "text", value: "KEY", help: "only this key and what is below it" },
      limit: { type: "integer", help: "at most this many, 1 to 50000; default 1000" },
      after: { type: "text", value: "CURSOR", help: "go on behind an earlier page: its data.next" },
    },
    examples: [["holdfast lock list --prefix project:alpha", "everything in a project"]],
    async run(context) {
      const { listLocks } = await import("../locks/list-locks.js");
      return listLocks(context);
    },
  }),
  command({
    name: "overlaps",
    group: "locks",
    summary: "list files that are held in several worktrees or workspaces at once",
    about: [
      "Files of equal path in two worktrees of a repository, or in two workspaces of one store, are different files with locks of their own. Nothing is refused; the changes meet when the branches are merged. Agents are told of it by their hooks and by the MCP server, once.",
    ],
    args: {},
    flags: {},
    examples: [["holdfast overlaps --json", "for a program"]],
    async run(context) {
      const { listOverlaps } = await import("../locks/list-overlaps.js");
      return listOverlaps(context);
    },
  }),
  command({
    name: "lock wait",
    group: "locks",
    summary: "wait until a lock could be taken, without taking it",
    about: [
      "What is recoverable on the way is ended, as an acquire would do it. Somebody else may be faster afterwards: to be sure, acquire.",
    ],
    args: { KEY },
    flags: { mode: MODE, wait: WAIT },
    examples: [["holdfast lock wait project:alpha --wait 10m", "until it is free"]],
    async run(context) {
      const { statusText } = await import("../locks/status-text.js");
      const { tellingOfTheWait } = await import("../locks/acquire.js");
      const { mode, wait } = context.flags;
      const { KEY: key } = context.args;
      const holdfast = await context.openHoldfast();
      const options = { signal: context.signal, ...given({ mode, wait }) };
      await tellingOfTheWait(context, holdfast, [key], holdfast.untilFree(key, options));
      const status = await holdfast.inspect(key);
      return { data: status, text: (screen) => statusText(status, screen) };
    },
  }),
  command({
    name: "lock watch",
    group: "locks",
    summary: "see locks change",
    about: [
      "On a terminal a live table; else a line for each change, with --json a JSON line: the status of KEY, or all grants. Ends at Ctrl-C.",
    ],
    args: { KEY: { ...KEY, optional: true, help: "only this lock, what is above it and below it" } },
    examples: [["holdfast lock watch", "everything, live"]],
    async run(context) {
      const { watchLocks } = await import("../locks/watch-locks.js");
      return watchLocks(context);
    },
  }),
  command({
    name: "explain",
    group: "locks",
    summary: "holders, line, who waits for whom, and what happened lately",
    args: { KEY },
    flags: { history: { type: "integer", help: "how many entries of the record to show; default 10" } },
    examples: [["holdfast explain project:alpha", "why do I have to wait?"]],
    async run(context) {
      const { explainLock } = await import("../locks/explain-lock.js");
      return explainLock(context);
    },
  }),
];
