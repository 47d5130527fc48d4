/** Makes a workspace, and its store with the settings of the configuration; with `--agents` the files of agents too. */

import { resolve } from "node:path";
import type { AgentClient } from "../../../agents/hooks/call.js";
import { kernelOf } from "../../../client/kernel.js";
import { CONFIG_FILE } from "../../../client/workspace/config.js";
import { makeWorkspace } from "../../../client/workspace/make-workspace.js";
import type { BaseContext, ContextWith, Outcome } from "../command.js";
import { openTheJobs, writeSettings } from "../jobs/jobs.js";

interface InitFlags {
  readonly agents: boolean;
  readonly client: readonly AgentClient[];
  readonly yes: boolean;
  readonly "dry-run": boolean;
}

export async function initWorkspace(context: ContextWith<InitFlags>): Promise<Outcome> {
  const root = resolve(context.cwd, context.flags.root ?? (context.env.HOLDFAST_ROOT || "."));
  const created = makeWorkspace(root);
  const holdfast = await context.openHoldfast();
  const { jobs } = context.workspace().config;
  if (jobs !== undefined && kernelOf(holdfast).scripts !== null) await writeSettings(await openTheJobs(context), jobs);
  const workspace = { root, store: holdfast.storeUrl, created };
  if (context.flags.agents) return (await import("./agents-set-up.js")).setUpAgents(context, workspace);
  return {
    data: workspace,
    text: () => (created ? `made a workspace in ${root}` : `there is a workspace in ${root} already`),
    notes: [`locks are kept in ${holdfast.storeUrl}`, ...onlyNow(context)],
  };
}

/** What was said for this command alone is not written down: the next one would keep its locks elsewhere. */
function onlyNow(context: BaseContext): string[] {
  if (context.workspace().sources.store !== "flag") return [];
  return [`other commands do not know that: write "store" into ${CONFIG_FILE}, or set HOLDFAST_STORE`];
}
