/** Worktrees: snapshots of a folder, their history, and restoring them. */
import type { ArgumentRow, CommandRow, FlagRow } from "../row.js";

const NAME: ArgumentRow = { name: "NAME", help: "the worktree" };
const WORKTREE: ArgumentRow = {
  name: "WORKTREE",
  help: "which one; default the one you are in, or the only one",
  optional: true,
};
const ID: ArgumentRow = {
  name: "ID",
  help: "the snapshot: its id, the beginning or end of that, or a tag that no other has",
};
const TOKEN: FlagRow = {
  name: "token",
  type: "text",
  help: "the lease token of the worktree's lock; else HOLDFAST_LEASE_TOKEN, else the one kept for you",
};
const WAIT: FlagRow = {
  name: "wait",
  type: "duration",
  help: "how long to wait for the lock when you hold none; default 0",
};

const LOCK =
  "In an exclusive worktree this needs its lock, worktree:NAME. When you hold none it is taken for the command and given back.";

export const WORKTREES: readonly CommandRow[] = [
  {
    name: "worktree add",
    group: "worktrees",
    summary: "put a folder under snapshots",
    about: [
      "An exclusive worktree has one writer at a time, who holds worktree:NAME. A shared one promises no such thing, and is marked as high risk wherever it is shown.",
    ],
    args: [NAME],
    flags: [
      {
        name: "path",
        type: "text",
        value: "DIR",
        help: "the folder; default NAME in the workspace; made when it is not there",
      },
      { name: "mode", type: "text", choices: ["exclusive", "shared"], help: "default exclusive" },
    ],
    examples: [["holdfast worktree add main --path src", "the folder src, as worktree main"]],
    load: () => import("../commands/worktree-add.js"),
  },
  {
    name: "worktree list",
    group: "worktrees",
    summary: "which worktrees there are, and what they stand on",
    examples: [["holdfast worktree list", "all of them"]],
    load: () => import("../commands/worktree-list.js"),
  },
  {
    name: "worktree remove",
    group: "worktrees",
    summary: "forget a worktree; its files stay",
    args: [NAME],
    flags: [
      { name: "snapshots", type: "boolean", help: "its snapshots go too; gc then frees what nothing else uses" },
      TOKEN,
      WAIT,
    ],
    examples: [["holdfast worktree remove old", "its files and snapshots stay"]],
    load: () => import("../commands/worktree-remove.js"),
  },
  {
    name: "snapshot",
    group: "worktrees",
    summary: "keep the state of a worktree",
    about: [
      LOCK,
      "quiesced proves that nothing changed while it was read, and fails with exit code 83 when something did. best_effort keeps what it got and says so.",
      "What .holdfastignore names (in the language of .gitignore) is left out. Fifos, sockets and devices are skipped, and listed.",
    ],
    args: [WORKTREE],
    flags: [
      { name: "message", type: "text", short: "m", value: "NOTE", help: "a note" },
      { name: "tag", type: "text", repeat: true, help: "a word to find it by" },
      {
        name: "consistency",
        type: "text",
        choices: ["quiesced", "best_effort"],
        help: "default quiesced; in a shared worktree best_effort",
      },
      TOKEN,
      WAIT,
    ],
    examples: [['holdfast snapshot main -m "before the migration"', "with a note"]],
    load: () => import("../commands/snapshot.js"),
  },
  {
    name: "history",
    group: "worktrees",
    summary: "the snapshots, as the tree of their parents",
    about: ["Takes no lock. Only complete snapshots are shown."],
    args: [{ ...WORKTREE, help: "only of this one; default all" }],
    flags: [{ name: "tag", type: "text", help: "only those with this tag" }],
    examples: [["holdfast history main", "newest last"]],
    load: () => import("../commands/history.js"),
  },
  {
    name: "info",
    group: "worktrees",
    summary: "what a snapshot says of itself",
    args: [ID],
    examples: [
      ["holdfast info 9f3a2c1b", "by the end of its id"],
      ["holdfast info v1", "by its tag"],
    ],
    load: () => import("../commands/info.js"),
  },
  {
    name: "diff",
    group: "worktrees",
    summary: "what was added, removed and changed between two snapshots",
    about: ["Takes no lock."],
    args: [
      { ...ID, name: "BEFORE" },
      { name: "AFTER", help: "another, named in the same way" },
    ],
    examples: [["holdfast diff 9f3a2c1b 77aa01fe", "with sizes"]],
    load: () => import("../commands/diff.js"),
  },
  {
    name: "verify",
    group: "worktrees",
    summary: "read snapshots whole and compare every byte with its hash",
    about: ["Exit code 65 when something is not as it was written; every finding is named. Takes no lock."],
    args: [{ ...ID, optional: true }],
    flags: [
      { name: "all", type: "boolean", help: "all snapshots, and what lies between them; the default without ID" },
    ],
    examples: [["holdfast verify --all", "everything"]],
    load: () => import("../commands/verify.js"),
  },
  {
    name: "restore",
    group: "worktrees",
    summary: "bring a snapshot back, to a new folder or in place",
    about: [
      "--to makes a new worktree and needs no lock. --inplace first takes a rescue snapshot of what is there, then changes the worktree step by step, checking lock and fence at each; what it cannot prove to be saved is put aside, never removed.",
      "A restore in place that a crash interrupted is finished before anybody gets the lock: by the next command on the worktree, or by --resume. --revert finishes it and then brings back what was there before.",
    ],
    args: [{ ...ID, optional: true }],
    flags: [
      { name: "to", type: "text", value: "DIR", help: "the new folder; it must not exist" },
      { name: "name", type: "text", help: "the name of the new worktree; default that of the folder" },
      { name: "inplace", type: "boolean", help: "change the worktree itself" },
      { name: "worktree", type: "text", value: "NAME", help: "with --inplace: which one; default the snapshot's own" },
      { name: "resume", type: "text", value: "NAME", help: "finish what was interrupted in this worktree" },
      { name: "revert", type: "text", value: "NAME", help: "go back to what was there before it" },
      TOKEN,
      WAIT,
    ],
    examples: [
      ["holdfast restore 9f3a2c1b --to ../before", "beside what is there now"],
      ["holdfast restore 9f3a2c1b --inplace", "the worktree itself"],
    ],
    load: () => import("../commands/restore.js"),
  },
  {
    name: "gc",
    group: "worktrees",
    summary: "remove what no snapshot uses",
    flags: [{ name: "wait", type: "duration", help: "how long to wait for a running snapshot or restore; default 5s" }],
    examples: [["holdfast gc", "after worktree remove --snapshots, or a crash"]],
    load: () => import("../commands/gc.js"),
  },
];
