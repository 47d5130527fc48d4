/** Adds issues, changes them, waits for them, and formats the outcome of each. */

import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { issueKey } from "../../../features/board/issue.js";
import type { ContextWith, Outcome } from "../command.js";
import type { AddFlags, State, UpdateFlags } from "../commands/issues.js";
import { waitingFor } from "../input/wait-flag.js";
import { tellingLater } from "../output/delayed-message.js";
import { type ChangeContext, changed, changing, openTheBoard, readTheBoard } from "./board.js";
import { issueOutcome, nobodyOr } from "./issue-text.js";

export async function addIssue(context: ContextWith<AddFlags, { readonly TITLE: string }>): Promise<Outcome> {
  const { flags } = context;
  const { state = "ready", priority = "normal", description, assignee, context: extra } = flags;
  const { board } = await openTheBoard(context);
  const issue = await board.add({
    title: context.args.TITLE,
    state,
    priority,
    labels: flags.label,
    dependencies: flags.dep,
    gates: flags.gate,
    ...given({ description, assignee: nobodyOr(assignee), context: extra }),
  });
  return issueOutcome("added", issue);
}

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

export async function updateIssue(context: ChangeContext & ContextWith<UpdateFlags>): Promise<Outcome> {
  const { flags } = context;
  const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined);
  if (!CHANGES.some((name) => isGiven(flags[name])))
    throw invalidArgument("change", `say at least one of ${CHANGES.map((flag) => `--${flag}`).join(", ")}`);
  const { title, description, state, priority, assignee, context: addContext } = flags;
  const patch = {
    addLabels: flags["add-label"],
    removeLabels: flags["rm-label"],
    addGates: flags["add-gate"],
    removeGates: flags["rm-gate"],
    ...given({ addContext, title, description, assignee: nobodyOr(assignee), state, priority }),
  };
  const opened = await openTheBoard(context);
  const { issue, isChanged } = await changed(context, opened, (id, options) => opened.board.update(id, patch, options));
  return issueOutcome(isChanged ? "updated" : "nothing to change:", issue);
}

export async function releaseIssue(
  context: ChangeContext & ContextWith<{ readonly state: State | undefined }>,
): Promise<Outcome> {
  const { state } = context.flags;
  const opened = await openTheBoard(context);
  const issue = await changing(context, opened, async (id, options) => {
    const released = await opened.board.release(id, { ...options, ...given({ state }) });
    if (options.token !== undefined) opened.files.forget([issueKey(id)], options.token);
    return released;
  });
  return issueOutcome("released", issue);
}

export async function closeIssue(context: ChangeContext & ContextWith<{ readonly reject: boolean }>): Promise<Outcome> {
  const state = context.flags.reject ? "rejected" : "done";
  const opened = await openTheBoard(context);
  const { issue, isChanged } = await changed(context, opened, async (id, options) => {
    const closed = await opened.board.close(id, { ...options, state });
    if (options.token !== undefined) opened.files.forget([issueKey(id)], options.token);
    return closed;
  });
  return issueOutcome(isChanged ? "closed" : "closed already:", issue);
}

type DependencyContext = ChangeContext & ContextWith<unknown, { readonly ON: string }>;

export async function addDependency(context: DependencyContext): Promise<Outcome> {
  const { ON: on } = context.args;
  const opened = await openTheBoard(context);
  const { issue, isChanged } = await changed(context, opened, (id, options) =>
    opened.board.addDependency(id, on, options),
  );
  return issueOutcome(isChanged ? "updated" : `depends on ${on} already:`, issue);
}

export async function removeDependency(context: DependencyContext): Promise<Outcome> {
  const { ON: on } = context.args;
  const opened = await openTheBoard(context);
  const { issue, isChanged } = await changed(context, opened, (id, options) =>
    opened.board.removeDependency(id, on, options),
  );
  return issueOutcome(isChanged ? "updated" : `did not depend on ${on}:`, issue);
}

type VerdictContext = ChangeContext & ContextWith<{ readonly note: string | undefined }, { readonly GATE: string }>;

/** Records the verdict of a person on a manual gate. */
export async function judgeGate(context: VerdictContext, verdict: "passed" | "failed"): Promise<Outcome> {
  const { GATE: gate } = context.args;
  const { note } = context.flags;
  const opened = await openTheBoard(context);
  const { board } = opened;
  const issue = await changing(context, opened, (id, options) => {
    const noted = { ...options, ...given({ note }) };
    return verdict === "passed" ? board.passGate(id, gate, noted) : board.failGate(id, gate, noted);
  });
  return issueOutcome(`gate ${gate} ${verdict} on`, issue);
}

interface WaitFlags {
  readonly state: readonly State[];
  readonly wait: string | undefined;
}

export async function waitForIssue(context: ContextWith<WaitFlags, { readonly ID: string }>): Promise<Outcome> {
  const { ID: id } = context.args;
  const { state: states } = context.flags;
  const board = readTheBoard(context);
  const wanted = states.length === 0 ? "closed" : states.join(" or ");
  const late = { late: `issue ${id} was not ${wanted}`, look: `holdfast issue show ${id}` };
  const waited = waitingFor(context, late, (signal) => board.wait(id, states, { signal }));
  const waiting = `waiting for issue ${id} to be ${wanted} (Ctrl-C stops)`;
  return issueOutcome("waited for", await tellingLater(context.screen, () => waiting, waited));
}
