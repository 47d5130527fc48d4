/** Makes a workspace, and its store with the settings of the configuration; with `--agents` the files of agents too. */
import type { AgentClient } from "../../../agents/hooks/call.js";
import { kernelOf } from "../../../client/kernel.js";
import { type RecordChange, settleRecord } from "../../../client/workspace/init-workspace.js";
import type { ContextWith, Outcome } from "../command.js";
import { openTheJobs, writeSettings } from "../jobs/jobs.js";

interface InitFlags {
  readonly agents: boolean;
  readonly client: readonly AgentClient[];
  readonly yes: boolean;
  readonly nested: boolean;
  readonly "dry-run": boolean;
}

export async function initWorkspace(context: ContextWith<InitFlags>): Promise<Outcome> {
  const choices = { isNested: context.flags.nested };
  const { root, record, sources } = context.settings(choices);
  const created = record === null;
  const change = await settleRecord(context.settings(), choices.isNested);
  if (change !== null) context.settings(choices);
  const holdfast = await context.openHoldfast(choices.isNested ? "nested" : "init");
  const { jobs } = context.settings().config;
  if (jobs !== undefined && kernelOf(holdfast).scripts !== null) await writeSettings(await openTheJobs(context), jobs);
  const workspace = { root: root ?? context.cwd, store: holdfast.storeUrl, created };
  if (context.flags.agents) return (await import("./agents-set-up.js")).setUpAgents(context, workspace);
  const isElsewhere = created && sources.root === "default" && root !== context.cwd;
  return {
    data: workspace,
    text: () => (created ? `made a workspace in ${root}` : `there is a workspace in ${root} already`),
    notes: [
      ...(isElsewhere ? ["it is the top of the repository; holdfast init --root DIR makes one elsewhere"] : []),
      `locks are kept in ${holdfast.storeUrl}`,
      ...changeNotes(change),
    ],
  };
}

function changeNotes(change: RecordChange | null): string[] {
  if (change === null) return [];
  if (!change.wasLost) return [`they were kept in ${change.before} before`];
  return [`the store ${change.before} is lost, with its locks, its audit trail and its jobs; this one begins anew`];
}
