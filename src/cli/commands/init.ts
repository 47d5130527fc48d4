/** `holdfast init`: makes the workspace, and its store with the settings of the configuration; with --agents the rest. */
import { resolve } from "node:path";
import { CONFIG_FILE } from "../../workspace/config.js";
import { makeWorkspace } from "../../workspace/make.js";
import type { Context, Outcome } from "../context.js";
import { openTheJobs, writeSettings } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const root = resolve(context.cwd, context.flags.text("root") ?? (context.env.HOLDFAST_ROOT || "."));
  const created = makeWorkspace(root);
  const holdfast = await context.openHoldfast();
  const { jobs } = context.workspace().config;
  if (jobs !== undefined && holdfast.home.store.scripts !== null) await writeSettings(await openTheJobs(context), jobs);
  const workspace = { root, store: holdfast.storeUrl, created };
  if (context.flags.has("agents")) return (await import("../agents-set-up.js")).setUpAgents(context, workspace);
  return {
    data: workspace,
    text: () => (created ? `made a workspace in ${root}` : `there is a workspace in ${root} already`),
    notes: [`locks are kept in ${holdfast.storeUrl}`, ...onlyNow(context)],
  };
}

/** What was said for this command alone is not written down: the next one would keep its locks elsewhere. */
function onlyNow(context: Context): string[] {
  if (context.workspace().sources.store !== "flag") return [];
  return [`other commands do not know that: write "store" into ${CONFIG_FILE}, or set HOLDFAST_STORE`];
}
