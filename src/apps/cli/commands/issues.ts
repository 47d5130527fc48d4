/** The commands of issues: adding and changing them, their dependencies, and their claims. */
import { given } from "../../../base/given.js";
import { type Command, command, type FlagSpec, type FlagSpecs, type FlagValues } from "../command.js";
import { CLAIM_TOKEN, GATE, GATE_WAIT, ISSUE } from "./shared-specs.js";

const STATES = ["backlog", "ready", "in_progress", "gated", "done", "rejected"] as const;
export type State = (typeof STATES)[number];
const PRIORITIES = ["critical", "high", "normal", "low"] as const;

const IF_REVISION = {
  type: "integer",
  help: "only if the issue is still at this revision; else E_REVISION_CONFLICT",
} as const satisfies FlagSpec;
const TTL = { type: "duration", help: "how long the claim lasts without use; default 15m" } as const satisfies FlagSpec;
const LABEL = { type: "text", repeat: true, help: "a label" } as const satisfies FlagSpec;

const CLAIMED =
  "A claimed issue is changed only by its claimer, found by the kept token or --token; an unclaimed one by anyone.";

const ADD = {
  description: { type: "text", help: "what it is about" },
  state: { type: "text", choices: STATES, help: "default ready" },
  priority: { type: "text", choices: PRIORITIES, help: "default normal" },
  label: LABEL,
  assignee: { type: "text", help: "whose it is" },
  dep: { type: "text", value: "ID", repeat: true, help: "an issue that must be closed before it" },
  gate: { type: "text", value: "GATE", repeat: true, help: "a gate it must pass" },
  context: { type: "pairs", help: "anything else to keep with it" },
} as const satisfies FlagSpecs;
export type AddFlags = FlagValues<typeof ADD>;

const UPDATE = {
  title: { type: "text", help: "one line" },
  description: { type: "text", help: "what it is about" },
  state: { type: "text", choices: STATES, help: "done needs its dependencies and gates" },
  priority: { type: "text", choices: PRIORITIES, help: "how urgent" },
  assignee: { type: "text", help: "whose it is; none for nobody" },
  "add-label": { type: "text", repeat: true, help: "one more label" },
  "rm-label": { type: "text", repeat: true, help: "one label less" },
  "add-gate": { type: "text", repeat: true, help: "one more gate to pass" },
  "rm-gate": { type: "text", repeat: true, help: "one gate less" },
  context: { type: "pairs", help: "put into its context" },
  "if-revision": IF_REVISION,
  token: CLAIM_TOKEN,
} as const satisfies FlagSpecs;
export type UpdateFlags = FlagValues<typeof UPDATE>;

export const ISSUES: readonly Command[] = [
  command({
    name: "issue add",
    group: "board",
    summary: "make an issue",
    args: { TITLE: { help: "one line" } },
    flags: ADD,
    examples: [['holdfast issue add "Rename layers" --priority high --gate tests', "with a gate to pass"]],
    async run(context) {
      const { addIssue } = await import("../board/change-issues.js");
      return addIssue(context);
    },
  }),
  command({
    name: "issue list",
    group: "board",
    summary: "issues, a page at a time",
    about: ["Takes no lock and creates nothing."],
    flags: {
      state: { type: "text", choices: STATES, repeat: true, help: "only these" },
      label: { ...LABEL, help: "only with all of these" },
      assignee: { type: "text", help: "only whose it is; none for nobody's" },
      ready: { type: "boolean", help: "only what can be begun now" },
      text: { type: "text", help: "words in title or description" },
      sort: { type: "text", choices: ["id", "priority", "created", "updated"], help: "default id" },
      limit: { type: "integer", help: "at most this many, up to 10000; default 100" },
      after: { type: "text", value: "ID", help: "go on behind this one" },
    },
    examples: [["holdfast issue list --ready --sort priority", "what is there to do?"]],
    async run(context) {
      const { listIssues } = await import("../board/list-issues.js");
      const { nobodyOr } = await import("../board/issue-text.js");
      const { state, label: labels, ready, assignee, text, after, limit, sort } = context.flags;
      return listIssues(context, {
        state,
        labels,
        ready,
        ...given({ assignee: nobodyOr(assignee), text, after, limit, sort }),
      });
    },
  }),
  command({
    name: "issue show",
    group: "board",
    summary: "all about an issue",
    args: { ID: ISSUE },
    examples: [["holdfast issue show 42", "with its dependencies, gates and claim"]],
    async run(context) {
      const { readTheBoard } = await import("../board/board.js");
      const { issueText } = await import("../board/issue-text.js");
      const issue = await readTheBoard(context).get(context.args.ID);
      return { data: { issue }, text: (screen) => issueText(issue, screen) };
    },
  }),
  command({
    name: "issue update",
    group: "board",
    summary: "change an issue",
    about: [CLAIMED],
    args: { ID: ISSUE },
    flags: UPDATE,
    examples: [["holdfast issue update 42 --priority high --add-label parser", "more urgent than it was"]],
    async run(context) {
      const { updateIssue } = await import("../board/change-issues.js");
      return updateIssue(context);
    },
  }),
  command({
    name: "issue claim",
    group: "board",
    summary: "take an issue to work on it",
    about: [
      "Takes the lease on issue:ID. Every command of yours on the issue renews it; when it lapses, nothing can be written under it any more and others may claim the issue.",
    ],
    args: { ID: ISSUE },
    flags: { ttl: TTL, wait: { type: "duration", help: "how long to wait for another's claim to end; default 0" } },
    examples: [["holdfast issue claim 42 --owner agent:7", "mine, until it is released or not used for 15 minutes"]],
    async run(context) {
      const { claimIssue } = await import("../board/claim-issues.js");
      return claimIssue(context);
    },
  }),
  command({
    name: "issue next",
    group: "board",
    summary: "the best issue that can be begun",
    about: [
      "With --claim it is yours in the same step: any number of agents that ask at once get different ones. Exit code 89 when there is none.",
    ],
    flags: {
      claim: { type: "boolean", help: "take it" },
      ttl: TTL,
      label: { ...LABEL, help: "only with all of these" },
    },
    examples: [["holdfast issue next --claim --owner agent:7 --json", "give me work"]],
    async run(context) {
      const { nextIssue } = await import("../board/claim-issues.js");
      return nextIssue(context);
    },
  }),
  command({
    name: "issue release",
    group: "board",
    summary: "give a claim back",
    args: { ID: ISSUE },
    flags: {
      state: { type: "text", choices: STATES, help: "default ready" },
      "if-revision": IF_REVISION,
      token: CLAIM_TOKEN,
    },
    examples: [["holdfast issue release 42 --state gated", "my part is done, now the reviewers"]],
    async run(context) {
      const { releaseIssue } = await import("../board/change-issues.js");
      return releaseIssue(context);
    },
  }),
  command({
    name: "issue close",
    group: "board",
    summary: "done, or rejected; gives the claim back",
    about: ["Done needs every dependency closed and every gate passed; what is missing is listed (exit code 88)."],
    args: { ID: ISSUE },
    flags: { reject: { type: "boolean", help: "it will not be done" }, "if-revision": IF_REVISION, token: CLAIM_TOKEN },
    examples: [["holdfast issue close 42", "done: its gates and dependencies are"]],
    async run(context) {
      const { closeIssue } = await import("../board/change-issues.js");
      return closeIssue(context);
    },
  }),
  command({
    name: "issue wait",
    group: "board",
    summary: "until an issue is closed, or has a state",
    args: { ID: ISSUE },
    flags: {
      state: { type: "text", choices: STATES, repeat: true, help: "one of these; default done or rejected" },
      wait: GATE_WAIT,
    },
    examples: [["holdfast issue wait 42 --wait 30m", "instead of a loop that sleeps"]],
    async run(context) {
      const { waitForIssue } = await import("../board/change-issues.js");
      return waitForIssue(context);
    },
  }),
  command({
    name: "issue dep add",
    group: "board",
    summary: "make an issue depend on another",
    about: ["A cycle is refused, naming it (exit code 88)."],
    args: { ID: ISSUE, ON: { help: "the issue that must be closed first" } },
    flags: { "if-revision": IF_REVISION, token: CLAIM_TOKEN },
    examples: [["holdfast issue dep add 42 41", "41 must be closed before 42"]],
    async run(context) {
      const { addDependency } = await import("../board/change-issues.js");
      return addDependency(context);
    },
  }),
  command({
    name: "issue dep rm",
    group: "board",
    summary: "take a dependency away",
    args: { ID: ISSUE, ON: { help: "the issue it depends on" } },
    flags: { "if-revision": IF_REVISION, token: CLAIM_TOKEN },
    examples: [["holdfast issue dep rm 42 41", "not any more"]],
    async run(context) {
      const { removeDependency } = await import("../board/change-issues.js");
      return removeDependency(context);
    },
  }),
  command({
    name: "issue gate pass",
    group: "board",
    summary: "say that an issue passes a manual gate",
    args: { ID: ISSUE, GATE },
    flags: { note: { type: "text", help: "why" }, "if-revision": IF_REVISION, token: CLAIM_TOKEN },
    examples: [['holdfast issue gate pass 42 review --note "looks right"', "somebody has looked at it"]],
    async run(context) {
      const { judgeGate } = await import("../board/change-issues.js");
      return judgeGate(context, "passed");
    },
  }),
  command({
    name: "issue gate fail",
    group: "board",
    summary: "say that an issue fails a manual gate",
    args: { ID: ISSUE, GATE },
    flags: { note: { type: "text", help: "why" }, "if-revision": IF_REVISION, token: CLAIM_TOKEN },
    examples: [['holdfast issue gate fail 42 review --note "tests are missing"', "not yet"]],
    async run(context) {
      const { judgeGate } = await import("../board/change-issues.js");
      return judgeGate(context, "failed");
    },
  }),
];
