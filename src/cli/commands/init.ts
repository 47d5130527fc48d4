/** `holdfast init`: makes the workspace, and its store with the settings of the configuration. */
import { resolve } from "node:path";
import { makeWorkspace } from "../../workspace/make.js";
import type { Context, Outcome } from "../context.js";

export async function run(context: Context): Promise<Outcome> {
  const root = resolve(context.cwd, context.flags.text("root") ?? (context.env.HOLDFAST_ROOT || "."));
  const created = makeWorkspace(root);
  const holdfast = await context.openHoldfast();
  return {
    data: { root, store: holdfast.storeUrl, created },
    text: () => (created ? `made a workspace in ${root}` : `there is a workspace in ${root} already`),
    notes: [`locks are kept in ${holdfast.storeUrl}`],
  };
}
