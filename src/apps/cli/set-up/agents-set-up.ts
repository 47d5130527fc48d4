/** `holdfast init --agents`: adds to the files of agent tools what agents need to share this folder. */
import type { AgentClient } from "../../../agents/hooks/call.js";
import { ChangePlan } from "../../../agents/hooks/install/change-plan.js";
import {
  agentsPagePart,
  clientsIn,
  hookPart,
  isInGit,
  mcpPart,
  noteFor,
  settingsFilesOf,
} from "../../../agents/hooks/install/parts.js";
import { worktreeParts } from "../../../agents/hooks/install/worktree-parts.js";
import { hookOptions, launcherNotes } from "../agents/hook-options.js";
import type { ContextWith, Outcome } from "../command.js";
import { writeFiles } from "../output/written-files.js";

interface MadeWorkspace {
  readonly root: string;
  readonly store: string;
  readonly created: boolean;
}

interface AgentFlags {
  readonly client: readonly AgentClient[];
  readonly yes: boolean;
  readonly "dry-run": boolean;
}

export async function setUpAgents(context: ContextWith<AgentFlags>, workspace: MadeWorkspace): Promise<Outcome> {
  const { root } = workspace;
  const { client: said, yes, "dry-run": isDry } = context.flags;
  const options = hookOptions(context.env, {});
  const clients = said.length > 0 ? said : clientsIn(root);
  const plan = new ChangePlan(root);
  plan.put(agentsPagePart);
  for (const client of clients) {
    plan.put(hookPart(root, client, options));
    plan.put(mcpPart(client, options.launcher));
    for (const part of worktreeParts(root, client, settingsFilesOf(client, options))) plan.put(part);
  }
  if (isInGit(root)) plan.put(hookPart(root, "git", options));
  const notes = clients.map((client) => noteFor(client, options)).filter((note) => note !== undefined);
  return writeFiles(context, plan, {
    when: yes ? "at-once" : "ask",
    isDry,
    data: { ...workspace, clients },
    nothing: "everything for agents is there already",
    yes: ["holdfast", "init", "--agents", ...said.flatMap((each) => ["--client", each]), "--yes"].join(" "),
    notes: [...notes, ...launcherNotes(options), "see that it holds: holdfast doctor hooks"],
  });
}
