/** The board: issues, what they depend on, gates, claims. */
import type { ArgumentRow, CommandRow, FlagRow } from "../row.js";

const STATES = ["backlog", "ready", "in_progress", "gated", "done", "rejected"];
const PRIORITIES = ["critical", "high", "normal", "low"];

const ID: ArgumentRow = { name: "ID", help: "the issue, such as 42" };
const GATE: ArgumentRow = { name: "GATE", help: "the gate's name" };
const TOKEN: FlagRow = {
  name: "token",
  type: "text",
  help: "the lease token of your claim; else HOLDFAST_LEASE_TOKEN, else the one kept for you",
};
const IF_REVISION: FlagRow = {
  name: "if-revision",
  type: "integer",
  help: "only if the issue is still at this revision; else E_REVISION_CONFLICT",
};
const WAIT: FlagRow = { name: "wait", type: "duration", help: "how long at most; default 10m" };
const TTL: FlagRow = { name: "ttl", type: "duration", help: "how long the claim lasts without use; default 15m" };
const LABEL: FlagRow = { name: "label", type: "text", repeat: true, help: "a label" };

const CLAIMED =
  "A claimed issue is changed only by its claimer, found by the kept token or --token; an unclaimed one by anyone.";

export const BOARD: readonly CommandRow[] = [
  {
    name: "issue add",
    group: "board",
    summary: "make an issue",
    args: [{ name: "TITLE", help: "one line" }],
    flags: [
      { name: "description", type: "text", help: "what it is about" },
      { name: "state", type: "text", choices: STATES, help: "default ready" },
      { name: "priority", type: "text", choices: PRIORITIES, help: "default normal" },
      LABEL,
      { name: "assignee", type: "text", help: "whose it is" },
      { name: "dep", type: "text", value: "ID", repeat: true, help: "an issue that must be closed before it" },
      { name: "gate", type: "text", value: "GATE", repeat: true, help: "a gate it must pass" },
      { name: "context", type: "pairs", help: "anything else to keep with it" },
    ],
    examples: [['holdfast issue add "Rename layers" --priority high --gate tests', "with a gate to pass"]],
    load: () => import("../commands/issue-add.js"),
  },
  {
    name: "issue list",
    group: "board",
    summary: "issues, a page at a time",
    about: ["Takes no lock and creates nothing."],
    flags: [
      { name: "state", type: "text", choices: STATES, repeat: true, help: "only these" },
      { ...LABEL, help: "only with all of these" },
      { name: "assignee", type: "text", help: "only whose it is; none for nobody's" },
      { name: "ready", type: "boolean", help: "only what can be begun now" },
      { name: "text", type: "text", help: "words in title or description" },
      { name: "sort", type: "text", choices: ["id", "priority", "created", "updated"], help: "default id" },
      { name: "limit", type: "integer", help: "at most this many, up to 10000; default 100" },
      { name: "after", type: "text", value: "ID", help: "go on behind this one" },
    ],
    examples: [["holdfast issue list --ready --sort priority", "what is there to do?"]],
    load: () => import("../commands/issue-list.js"),
  },
  {
    name: "issue show",
    group: "board",
    summary: "all about an issue",
    args: [ID],
    examples: [["holdfast issue show 42", "with its dependencies, gates and claim"]],
    load: () => import("../commands/issue-show.js"),
  },
  {
    name: "issue update",
    group: "board",
    summary: "change an issue",
    about: [CLAIMED],
    args: [ID],
    flags: [
      { name: "title", type: "text", help: "one line" },
      { name: "description", type: "text", help: "what it is about" },
      { name: "state", type: "text", choices: STATES, help: "done needs its dependencies and gates" },
      { name: "priority", type: "text", choices: PRIORITIES, help: "how urgent" },
      { name: "assignee", type: "text", help: "whose it is; none for nobody" },
      { name: "add-label", type: "text", repeat: true, help: "one more label" },
      { name: "rm-label", type: "text", repeat: true, help: "one label less" },
      { name: "add-gate", type: "text", repeat: true, help: "one more gate to pass" },
      { name: "rm-gate", type: "text", repeat: true, help: "one gate less" },
      { name: "context", type: "pairs", help: "put into its context" },
      IF_REVISION,
      TOKEN,
    ],
    examples: [["holdfast issue update 42 --priority high --add-label parser", "more urgent than it was"]],
    load: () => import("../commands/issue-update.js"),
  },
  {
    name: "issue claim",
    group: "board",
    summary: "take an issue to work on it",
    about: [
      "Takes the lease on issue:ID. Every command of yours on the issue renews it; when it lapses, nothing can be written under it any more and others may claim the issue.",
    ],
    args: [ID],
    flags: [TTL, { ...WAIT, help: "how long to wait for another's claim to end; default 0" }],
    examples: [["holdfast issue claim 42 --owner agent:7", "mine, until it is released or not used for 15 minutes"]],
    load: () => import("../commands/issue-claim.js"),
  },
  {
    name: "issue next",
    group: "board",
    summary: "the best issue that can be begun",
    about: [
      "With --claim it is yours in the same step: any number of agents that ask at once get different ones. Exit code 89 when there is none.",
    ],
    flags: [{ name: "claim", type: "boolean", help: "take it" }, TTL, { ...LABEL, help: "only with all of these" }],
    examples: [["holdfast issue next --claim --owner agent:7 --json", "give me work"]],
    load: () => import("../commands/issue-next.js"),
  },
  {
    name: "issue release",
    group: "board",
    summary: "give a claim back",
    args: [ID],
    flags: [{ name: "state", type: "text", choices: STATES, help: "default ready" }, IF_REVISION, TOKEN],
    examples: [["holdfast issue release 42 --state gated", "my part is done, now the reviewers"]],
    load: () => import("../commands/issue-release.js"),
  },
  {
    name: "issue close",
    group: "board",
    summary: "done, or rejected; gives the claim back",
    about: ["Done needs every dependency closed and every gate passed; what is missing is listed (exit code 88)."],
    args: [ID],
    flags: [{ name: "reject", type: "boolean", help: "it will not be done" }, IF_REVISION, TOKEN],
    examples: [["holdfast issue close 42", "done: its gates and dependencies are"]],
    load: () => import("../commands/issue-close.js"),
  },
  {
    name: "issue wait",
    group: "board",
    summary: "until an issue is closed, or has a state",
    args: [ID],
    flags: [
      { name: "state", type: "text", choices: STATES, repeat: true, help: "one of these; default done or rejected" },
      WAIT,
    ],
    examples: [["holdfast issue wait 42 --wait 30m", "instead of a loop that sleeps"]],
    load: () => import("../commands/issue-wait.js"),
  },
  {
    name: "issue dep add",
    group: "board",
    summary: "make an issue depend on another",
    about: ["A cycle is refused, naming it (exit code 88)."],
    args: [ID, { name: "ON", help: "the issue that must be closed first" }],
    flags: [IF_REVISION, TOKEN],
    examples: [["holdfast issue dep add 42 41", "41 must be closed before 42"]],
    load: () => import("../commands/issue-dep-add.js"),
  },
  {
    name: "issue dep rm",
    group: "board",
    summary: "take a dependency away",
    args: [ID, { name: "ON", help: "the issue it depends on" }],
    flags: [IF_REVISION, TOKEN],
    examples: [["holdfast issue dep rm 42 41", "not any more"]],
    load: () => import("../commands/issue-dep-rm.js"),
  },
  {
    name: "issue gate pass",
    group: "board",
    summary: "say that an issue passes a manual gate",
    args: [ID, GATE],
    flags: [{ name: "note", type: "text", help: "why" }, IF_REVISION, TOKEN],
    examples: [['holdfast issue gate pass 42 review --note "looks right"', "somebody has looked at it"]],
    load: () => import("../commands/issue-gate-pass.js"),
  },
  {
    name: "issue gate fail",
    group: "board",
    summary: "say that an issue fails a manual gate",
    args: [ID, GATE],
    flags: [{ name: "note", type: "text", help: "why" }, IF_REVISION, TOKEN],
    examples: [['holdfast issue gate fail 42 review --note "tests are missing"', "not yet"]],
    load: () => import("../commands/issue-gate-fail.js"),
  },
  {
    name: "gate add",
    group: "board",
    summary: "define a gate: manual, or automatic with a command",
    args: [{ name: "NAME", help: "letters, digits, . _ -" }],
    flags: [
      { name: "description", type: "text", help: "what it asks for" },
      { name: "timeout", type: "duration", help: "how long the command may run; default 10m" },
    ],
    rest: { name: "CMD", help: "makes it automatic: exit code 0 passes", optional: true },
    examples: [["holdfast gate add tests --timeout 5m -- npm test", "an automatic gate"]],
    load: () => import("../commands/gate-add.js"),
  },
  {
    name: "gate list",
    group: "board",
    summary: "the gates there are",
    examples: [["holdfast gate list", "which can an issue be given?"]],
    load: () => import("../commands/gate-list.js"),
  },
  {
    name: "gate run",
    group: "board",
    summary: "run an automatic gate's command for an issue",
    about: [
      "No lock is held while it runs. The verdict and the output are kept. Exit code 0 when it passed, 88 when it failed.",
    ],
    args: [ID, GATE],
    flags: [TOKEN],
    examples: [["holdfast gate run 42 tests", "exit code 0 when it passed"]],
    load: () => import("../commands/gate-run.js"),
  },
  {
    name: "gate wait",
    group: "board",
    summary: "until an issue has passed or failed a gate",
    about: ["Exit code 0 when it passed, 88 when it failed."],
    args: [ID, GATE],
    flags: [WAIT],
    examples: [["holdfast gate wait 42 tests --wait 10m", "until somebody has run it"]],
    load: () => import("../commands/gate-wait.js"),
  },
  {
    name: "board import",
    group: "board",
    summary: "issues from task-master, beads, or a board's export",
    about: [
      "All in one step, or nothing. What was imported before is left as it is.",
      "An export comes back under its own ids, with its gates, but without claims. What is there already is left as it is; an id that is another issue's here is refused.",
    ],
    args: [{ name: "FILE", help: "tasks.json of task-master, beads' JSONL, or what board export wrote" }],
    flags: [
      {
        name: "format",
        type: "text",
        choices: ["task-master", "beads", "holdfast"],
        help: "default by the file's ending and content",
      },
    ],
    examples: [
      ["holdfast board import tasks.json", "issues, states and dependencies"],
      ["holdfast board import board.json", "what board export wrote, back again"],
    ],
    load: () => import("../commands/board-import.js"),
  },
  {
    name: "board export",
    group: "board",
    summary: "the whole board as JSON",
    about: ["board import takes it back, but for claims. Events and the output of gates are not in it."],
    examples: [["holdfast board export --json > board.json", "all of it, to keep"]],
    load: () => import("../commands/board-export.js"),
  },
];
