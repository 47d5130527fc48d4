/** The commands of snapshots: taking, comparing, verifying and restoring them. */
import { given } from "../../../base/given.js";
import { type ArgumentSpec, type Command, command } from "../command.js";
import { WORKTREE_TOKEN, WORKTREE_WAIT } from "./shared-specs.js";

const WORKTREE = {
  help: "which one; default the one you are in, or the only one",
  optional: true,
} as const satisfies ArgumentSpec;
const ID = {
  help: "the snapshot: its id, the beginning or end of that, or a tag that no other has",
} as const satisfies ArgumentSpec;

const LOCK =
  "In an exclusive worktree this needs its lock, worktree:NAME. When you hold none it is taken for the command and given back.";

export const SNAPSHOTS: readonly Command[] = [
  command({
    name: "snapshot",
    group: "worktrees",
    summary: "keep the state of a worktree",
    about: [
      LOCK,
      "quiesced proves that nothing changed while it was read, and fails with exit code 83 when something did. best_effort keeps what it got and says so.",
      "What .holdfastignore names (in the language of .gitignore) is left out. Fifos, sockets and devices are skipped, and listed.",
    ],
    args: { WORKTREE },
    flags: {
      message: { type: "text", short: "m", value: "NOTE", help: "a note" },
      tag: { type: "text", repeat: true, help: "a word to find it by" },
      consistency: {
        type: "text",
        choices: ["quiesced", "best_effort"],
        help: "default quiesced; in a shared worktree best_effort",
      },
      token: WORKTREE_TOKEN,
      wait: WORKTREE_WAIT,
    },
    examples: [['holdfast snapshot main -m "before the migration"', "with a note"]],
    async run(context) {
      const { takeSnapshot } = await import("../snapshots/take-snapshot.js");
      return takeSnapshot(context);
    },
  }),
  command({
    name: "history",
    group: "worktrees",
    summary: "the snapshots, as the tree of their parents",
    about: ["Takes no lock. Only complete snapshots are shown."],
    args: { WORKTREE: { ...WORKTREE, help: "only of this one; default all" } },
    flags: { tag: { type: "text", help: "only those with this tag" } },
    examples: [["holdfast history main", "newest last"]],
    async run(context) {
      const { listSnapshots } = await import("../snapshots/list-snapshots.js");
      return listSnapshots(context);
    },
  }),
  command({
    name: "info",
    group: "worktrees",
    summary: "what a snapshot says of itself",
    args: { ID },
    examples: [
      ["holdfast info 9f3a2c1b", "by the end of its id"],
      ["holdfast info v1", "by its tag"],
    ],
    async run(context) {
      const { infoOutcome } = await import("../snapshots/snapshot-text.js");
      const { openForReading } = await import("../snapshots/worktrees.js");
      const worktrees = await openForReading(context);
      return infoOutcome(worktrees.info(context.args.ID));
    },
  }),
  command({
    name: "diff",
    group: "worktrees",
    summary: "what was added, removed and changed between two snapshots",
    about: ["Takes no lock."],
    args: { BEFORE: ID, AFTER: { help: "another, named in the same way" } },
    examples: [["holdfast diff 9f3a2c1b 77aa01fe", "with sizes"]],
    async run(context) {
      const { diffOutcome } = await import("../snapshots/snapshot-text.js");
      const { openForReading } = await import("../snapshots/worktrees.js");
      const worktrees = await openForReading(context);
      return diffOutcome(await worktrees.diff(context.args.BEFORE, context.args.AFTER));
    },
  }),
  command({
    name: "verify",
    group: "worktrees",
    summary: "read snapshots whole and compare every byte with its hash",
    about: ["Exit code 65 when something is not as it was written; every finding is named. Takes no lock."],
    args: { ID: { ...ID, optional: true } },
    flags: { all: { type: "boolean", help: "all snapshots, and what lies between them; the default without ID" } },
    examples: [["holdfast verify --all", "everything"]],
    async run(context) {
      const { verifySnapshots } = await import("../snapshots/verify-snapshots.js");
      return verifySnapshots(context);
    },
  }),
  command({
    name: "restore",
    group: "worktrees",
    summary: "bring a snapshot back, to a new folder or in place",
    about: [
      "--to makes a new worktree and needs no lock. --inplace first takes a rescue snapshot of what is there, then changes the worktree step by step, checking lock and fence at each; what it cannot prove to be saved is put aside, never removed.",
      "A restore in place that a crash interrupted is finished before anybody gets the lock: by the next command on the worktree, or by --resume. --revert finishes it and then brings back what was there before.",
    ],
    args: { ID: { ...ID, optional: true } },
    flags: {
      to: { type: "text", value: "DIR", help: "the new folder; it must not exist" },
      name: { type: "text", help: "the name of the new worktree; default that of the folder" },
      inplace: { type: "boolean", help: "change the worktree itself" },
      worktree: { type: "text", value: "NAME", help: "with --inplace: which one; default the snapshot's own" },
      resume: { type: "text", value: "NAME", help: "finish what was interrupted in this worktree" },
      revert: { type: "text", value: "NAME", help: "go back to what was there before it" },
      token: WORKTREE_TOKEN,
      wait: WORKTREE_WAIT,
    },
    examples: [
      ["holdfast restore 9f3a2c1b --to ../before", "beside what is there now"],
      ["holdfast restore 9f3a2c1b --inplace", "the worktree itself"],
    ],
    async run(context) {
      const { restoreSnapshot } = await import("../snapshots/restore-snapshot.js");
      return restoreSnapshot(context);
    },
  }),
  command({
    name: "gc",
    group: "worktrees",
    summary: "remove what no snapshot uses",
    flags: { wait: { type: "duration", help: "how long to wait for a running snapshot or restore; default 5s" } },
    examples: [["holdfast gc", "after worktree remove --snapshots, or a crash"]],
    async run(context) {
      const { freedText } = await import("../snapshots/snapshot-text.js");
      const { openForWriting } = await import("../snapshots/worktrees.js");
      const { wait } = context.flags;
      const worktrees = await openForWriting(context);
      const removed = await worktrees.gc(given({ wait }));
      return { data: { removed }, text: () => freedText(removed) };
    },
  }),
];
