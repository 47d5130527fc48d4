/** The commands of issues: making and changing them, what they depend on, and who works on which. */
import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { type ArgumentSpec, type Command, command, type FlagSpec } from "../command.js";

const STATES = ["backlog", "ready", "in_progress", "gated", "done", "rejected"] as const;
const PRIORITIES = ["critical", "high", "normal", "low"] as const;

const ID = { help: "the issue, such as 42" } as const satisfies ArgumentSpec;
const GATE = { help: "the gate's name" } as const satisfies ArgumentSpec;
const TOKEN = {
  type: "text",
  help: "the lease token of your claim; else HOLDFAST_LEASE_TOKEN, else the one kept for you",
} as const satisfies FlagSpec;
const IF_REVISION = {
  type: "integer",
  help: "only if the issue is still at this revision; else E_REVISION_CONFLICT",
} as const satisfies FlagSpec;
const WAIT = { type: "duration", help: "how long at most; default 10m" } as const satisfies FlagSpec;
const TTL = { type: "duration", help: "how long the claim lasts without use; default 15m" } as const satisfies FlagSpec;
const LABEL = { type: "text", repeat: true, help: "a label" } as const satisfies FlagSpec;

const CLAIMED =
  "A claimed issue is changed only by its claimer, found by the kept token or --token; an unclaimed one by anyone.";

/** The flags of `issue update` that change something. */
const CHANGES = [
  "title",
  "description",
  "state",
  "priority",
  "assignee",
  "add-label",
  "rm-label",
  "add-gate",
  "rm-gate",
  "context",
] as const;

export const ISSUES: readonly Command[] = [
  command({
    name: "issue add",
    group: "board",
    summary: "make an issue",
    args: { TITLE: { help: "one line" } },
    flags: {
      description: { type: "text", help: "what it is about" },
      state: { type: "text", choices: STATES, help: "default ready" },
      priority: { type: "text", choices: PRIORITIES, help: "default normal" },
      label: LABEL,
      assignee: { type: "text", help: "whose it is" },
      dep: { type: "text", value: "ID", repeat: true, help: "an issue that must be closed before it" },
      gate: { type: "text", value: "GATE", repeat: true, help: "a gate it must pass" },
      context: { type: "pairs", help: "anything else to keep with it" },
    },
    examples: [['holdfast issue add "Rename layers" --priority high --gate tests', "with a gate to pass"]],
    async run(context) {
      const { openTheBoard } = await import("../board/board.js");
      const { issueOutcome, nobodyOr } = await import("../board/issue-text.js");
      const {
        label,
        dep,
        gate,
        state = "ready",
        priority = "normal",
        description,
        assignee,
        context: extra,
      } = context.flags;
      const { board } = await openTheBoard(context);
      const issue = await board.add({
        title: context.args.TITLE,
        state,
        priority,
        labels: label,
        dependencies: dep,
        gates: gate,
        ...given({ description, assignee: nobodyOr(assignee), context: extra }),
      });
      return issueOutcome("added", issue);
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
    args: { ID },
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
    args: { ID },
    flags: {
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
      token: TOKEN,
    },
    examples: [["holdfast issue update 42 --priority high --add-label parser", "more urgent than it was"]],
    async run(context) {
      const { changed, openTheBoard } = await import("../board/board.js");
      const { issueOutcome, nobodyOr } = await import("../board/issue-text.js");
      const { flags } = context;
      const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined);
      if (!CHANGES.some((name) => isGiven(flags[name])))
        throw invalidArgument("change", `say at least one of ${CHANGES.map((flag) => `--${flag}`).join(", ")}`);
      const { title, description, state, priority, assignee, context: addContext } = flags;
      const opened = await openTheBoard(context);
      const { issue, isChanged } = await changed(context, opened, (id, options) =>
        opened.board.update(
          id,
          {
            addLabels: flags["add-label"],
            removeLabels: flags["rm-label"],
            addGates: flags["add-gate"],
            removeGates: flags["rm-gate"],
            ...given({
              addContext,
              title,
              description,
              assignee: nobodyOr(assignee),
              state,
              priority,
            }),
          },
          options,
        ),
      );
      return issueOutcome(isChanged ? "updated" : "nothing to change:", issue);
    },
  }),
  command({
    name: "issue claim",
    group: "board",
    summary: "take an issue to work on it",
    about: [
      "Takes the lease on issue:ID. Every command of yours on the issue renews it; when it lapses, nothing can be written under it any more and others may claim the issue.",
    ],
    args: { ID },
    flags: { ttl: TTL, wait: { ...WAIT, help: "how long to wait for another's claim to end; default 0" } },
    examples: [["holdfast issue claim 42 --owner agent:7", "mine, until it is released or not used for 15 minutes"]],
    async run(context) {
      const { keepingToken, openTheBoard } = await import("../board/board.js");
      const { claimOutcome } = await import("../board/claim-text.js");
      const { parseIssueId } = await import("../../../features/board/issue.js");
      const { ttl, wait } = context.flags;
      const opened = await openTheBoard(context);
      const id = parseIssueId(context.args.ID);
      const claimed = await keepingToken(opened, (keep) =>
        opened.board.claim(id, {
          signal: context.signal,
          keepToken: (token) => keep(token, id),
          ...given({ ttl, wait }),
        }),
      );
      return claimOutcome(claimed);
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
      const { keepingToken, openTheBoard } = await import("../board/board.js");
      const { claimOutcome } = await import("../board/claim-text.js");
      const { issueTable } = await import("../board/issue-text.js");
      const { claim, label: labels, ttl } = context.flags;
      const opened = await openTheBoard(context);
      if (!claim) {
        const issue = await opened.board.next({ labels });
        if (issue === null) throw nothingToBegin();
        return { data: { issue }, text: (screen) => issueTable([issue], screen) };
      }
      const { claimed } = await keepingToken(opened, async (keepToken) => {
        const found = await opened.board.claimNext({ labels, keepToken, ...given({ ttl }) });
        if (found === null) throw nothingToBegin();
        return { claimed: found, token: found.token };
      });
      return claimOutcome(claimed);
    },
  }),
  command({
    name: "issue release",
    group: "board",
    summary: "give a claim back",
    args: { ID },
    flags: {
      state: { type: "text", choices: STATES, help: "default ready" },
      "if-revision": IF_REVISION,
      token: TOKEN,
    },
    examples: [["holdfast issue release 42 --state gated", "my part is done, now the reviewers"]],
    async run(context) {
      const { changing, openTheBoard } = await import("../board/board.js");
      const { issueOutcome } = await import("../board/issue-text.js");
      const { issueKey } = await import("../../../features/board/issue.js");
      const { state } = context.flags;
      const opened = await openTheBoard(context);
      const issue = await changing(context, opened, async (id, options) => {
        const released = await opened.board.release(id, { ...options, ...given({ state }) });
        if (options.token !== undefined) opened.files.forget([issueKey(id)], options.token);
        return released;
      });
      return issueOutcome("released", issue);
    },
  }),
  command({
    name: "issue close",
    group: "board",
    summary: "done, or rejected; gives the claim back",
    about: ["Done needs every dependency closed and every gate passed; what is missing is listed (exit code 88)."],
    args: { ID },
    flags: { reject: { type: "boolean", help: "it will not be done" }, "if-revision": IF_REVISION, token: TOKEN },
    examples: [["holdfast issue close 42", "done: its gates and dependencies are"]],
    async run(context) {
      const { changed, openTheBoard } = await import("../board/board.js");
      const { issueOutcome } = await import("../board/issue-text.js");
      const { issueKey } = await import("../../../features/board/issue.js");
      const state = context.flags.reject ? "rejected" : "done";
      const opened = await openTheBoard(context);
      const { issue, isChanged } = await changed(context, opened, async (id, options) => {
        const closed = await opened.board.close(id, { ...options, state });
        if (options.token !== undefined) opened.files.forget([issueKey(id)], options.token);
        return closed;
      });
      return issueOutcome(isChanged ? "closed" : "closed already:", issue);
    },
  }),
  command({
    name: "issue wait",
    group: "board",
    summary: "until an issue is closed, or has a state",
    args: { ID },
    flags: {
      state: { type: "text", choices: STATES, repeat: true, help: "one of these; default done or rejected" },
      wait: WAIT,
    },
    examples: [["holdfast issue wait 42 --wait 30m", "instead of a loop that sleeps"]],
    async run(context) {
      const { readTheBoard } = await import("../board/board.js");
      const { issueOutcome } = await import("../board/issue-text.js");
      const { tellingLater } = await import("../output/delayed-message.js");
      const { waitingFor } = await import("../input/wait-flag.js");
      const { ID: id } = context.args;
      const { state: states } = context.flags;
      const board = readTheBoard(context);
      const wanted = states.length === 0 ? "closed" : states.join(" or ");
      const late = { late: `issue ${id} was not ${wanted}`, look: `holdfast issue show ${id}` };
      const waited = waitingFor(context, late, (signal) => board.wait(id, states, { signal }));
      const waiting = `waiting for issue ${id} to be ${wanted} (Ctrl-C stops)`;
      return issueOutcome("waited for", await tellingLater(context.screen, () => waiting, waited));
    },
  }),
  command({
    name: "issue dep add",
    group: "board",
    summary: "make an issue depend on another",
    about: ["A cycle is refused, naming it (exit code 88)."],
    args: { ID, ON: { help: "the issue that must be closed first" } },
    flags: { "if-revision": IF_REVISION, token: TOKEN },
    examples: [["holdfast issue dep add 42 41", "41 must be closed before 42"]],
    async run(context) {
      const { changed, openTheBoard } = await import("../board/board.js");
      const { issueOutcome } = await import("../board/issue-text.js");
      const { ON: on } = context.args;
      const opened = await openTheBoard(context);
      const { issue, isChanged } = await changed(context, opened, (id, options) =>
        opened.board.addDependency(id, on, options),
      );
      return issueOutcome(isChanged ? "updated" : `depends on ${on} already:`, issue);
    },
  }),
  command({
    name: "issue dep rm",
    group: "board",
    summary: "take a dependency away",
    args: { ID, ON: { help: "the issue it depends on" } },
    flags: { "if-revision": IF_REVISION, token: TOKEN },
    examples: [["holdfast issue dep rm 42 41", "not any more"]],
    async run(context) {
      const { changed, openTheBoard } = await import("../board/board.js");
      const { issueOutcome } = await import("../board/issue-text.js");
      const { ON: on } = context.args;
      const opened = await openTheBoard(context);
      const { issue, isChanged } = await changed(context, opened, (id, options) =>
        opened.board.removeDependency(id, on, options),
      );
      return issueOutcome(isChanged ? "updated" : `did not depend on ${on}:`, issue);
    },
  }),
  command({
    name: "issue gate pass",
    group: "board",
    summary: "say that an issue passes a manual gate",
    args: { ID, GATE },
    flags: { note: { type: "text", help: "why" }, "if-revision": IF_REVISION, token: TOKEN },
    examples: [['holdfast issue gate pass 42 review --note "looks right"', "somebody has looked at it"]],
    async run(context) {
      const { changing, openTheBoard } = await import("../board/board.js");
      const { issueOutcome } = await import("../board/issue-text.js");
      const { GATE: gate } = context.args;
      const { note } = context.flags;
      const opened = await openTheBoard(context);
      const issue = await changing(context, opened, (id, options) =>
        opened.board.passGate(id, gate, { ...options, ...given({ note }) }),
      );
      return issueOutcome(`gate ${gate} passed on`, issue);
    },
  }),
  command({
    name: "issue gate fail",
    group: "board",
    summary: "say that an issue fails a manual gate",
    args: { ID, GATE },
    flags: { note: { type: "text", help: "why" }, "if-revision": IF_REVISION, token: TOKEN },
    examples: [['holdfast issue gate fail 42 review --note "tests are missing"', "not yet"]],
    async run(context) {
      const { changing, openTheBoard } = await import("../board/board.js");
      const { issueOutcome } = await import("../board/issue-text.js");
      const { GATE: gate } = context.args;
      const { note } = context.flags;
      const opened = await openTheBoard(context);
      const issue = await changing(context, opened, (id, options) =>
        opened.board.failGate(id, gate, { ...options, ...given({ note }) }),
      );
      return issueOutcome(`gate ${gate} failed on`, issue);
    },
  }),
];

function nothingToBegin(): HoldfastError {
  return new HoldfastError("E_NOT_FOUND", "there is no issue that can be begun now", {
    next: ["holdfast issue list", "Wait until one is closed or released, then ask again."],
  });
}
