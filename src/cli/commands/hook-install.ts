/** `holdfast hook install CLIENT`: the check in the client's own configuration, or out of it again. */
import type { Client } from "../../hooks/call.js";
import { ChangePlan } from "../../hooks/install/change-plan.js";
import { hookPart, noteFor } from "../../hooks/install/parts.js";
import { HoldfastError } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { hookOptions, launcherNotes } from "../hook-options.js";
import { writeFiles } from "../written-files.js";

export async function run(context: Context): Promise<Outcome> {
  const client = context.arg("CLIENT") as Client;
  const { root } = context.workspace();
  if (root === null) throw new HoldfastError("E_CONFIG", "there is no workspace here", { next: ["holdfast init"] });
  const options = hookOptions(context);
  const plan = new ChangePlan(root);
  const part = hookPart(root, client, options);
  const isUninstall = context.flags.has("uninstall");
  if (isUninstall) plan.take(part);
  else plan.put(part);
  const note = noteFor(client, options);
  return writeFiles(context, plan, {
    when: "at-once",
    data: { client },
    nothing: isUninstall ? `there is no hook of ours for ${client} here` : `the hook for ${client} is there already`,
    notes: isUninstall
      ? []
      : [...(note === undefined ? [] : [note]), ...launcherNotes(options), "see that it holds: holdfast doctor hooks"],
  });
}
