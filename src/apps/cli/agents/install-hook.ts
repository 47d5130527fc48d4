/** `holdfast hook install`: puts the check into an agent tool's own configuration, or removes it again. */
import type { Client } from "../../../agents/hooks/call.js";
import { ChangePlan } from "../../../agents/hooks/install/change-plan.js";
import { hookPart, noteFor, settingsFilesOf } from "../../../agents/hooks/install/parts.js";
import { worktreeParts } from "../../../agents/hooks/install/worktree-parts.js";
import { HoldfastError } from "../../../base/errors.js";
import type { ContextWith, Outcome } from "../command.js";
import { writeFiles } from "../output/written-files.js";
import { hookOptions, launcherNotes } from "./hook-options.js";

interface InstallFlags {
  readonly uninstall: boolean;
  readonly "dry-run": boolean;
  readonly "each-turn": boolean;
  readonly ttl: string | undefined;
  readonly wait: string | undefined;
}

export async function installHook(context: ContextWith<InstallFlags, { readonly CLIENT: Client }>): Promise<Outcome> {
  const { CLIENT: client } = context.args;
  const { uninstall: isUninstall, "dry-run": isDry } = context.flags;
  const { root } = context.workspace();
  if (root === null)
    throw new HoldfastError("E_CONFIG", "there is no workspace here", {
      reason: "no_workspace",
      next: ["holdfast init"],
    });
  const options = hookOptions(context.env, context.flags);
  const plan = new ChangePlan(root);
  const part = hookPart(root, client, options);
  if (isUninstall) plan.take(part);
  else plan.put(part);
  if (client !== "git" && isUninstall)
    for (const each of worktreeParts(root, client, settingsFilesOf(client, options), true)) plan.take(each);
  if (client !== "git" && !isUninstall) for (const each of worktreeParts(root, client, [part.path])) plan.put(each);
  const note = noteFor(client, options);
  return writeFiles(context, plan, {
    when: "at-once",
    isDry,
    data: { client },
    nothing: isUninstall ? `there is no hook of ours for ${client} here` : `the hook for ${client} is there already`,
    notes: isUninstall
      ? []
      : [...(note === undefined ? [] : [note]), ...launcherNotes(options), "see that it holds: holdfast doctor hooks"],
  });
}
