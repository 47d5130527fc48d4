/**
 * The fields that features have in `holdfast.config.json`, each checked by the feature's own parser, and the workspace
 * with them. Agents' interfaces and programs find their workspace here.
 */

import type { Holdfast } from "../client/holdfast.js";
import { type HoldfastOptions, type OpenedAround, openAround, openHoldfastWith } from "../client/open-holdfast.js";
import { asChecked, type Checks } from "../client/workspace/config.js";
import { type FoundWorkspace, findWorkspaceWith, type Place, type Said } from "../client/workspace/find-workspace.js";
import { type JobSettings, parseJobSettings } from "./jobs/settings.js";
import type { Deployment } from "./policy/decide.js";
import { checkPolicy, type Policy } from "./policy/rule.js";

interface FeatureFields {
  /** Rules of the workspace's own, beside the shipped ones. */
  readonly policy: Policy;
  readonly deployment: Deployment;
  /** Caps of jobs, and how long they are kept; `holdfast init` and each `worker` that starts write them into the store. */
  readonly jobs: JobSettings;
  /** Whether shared worktrees may be restored in place. */
  readonly sharedInPlace: boolean;
}

const CHECKS: Checks<FeatureFields> = {
  policy: (value) => asChecked(() => checkPolicy(value)),
  deployment: (value) =>
    value === "single-node" || value === "multi-node" ? null : "is to be single-node or multi-node",
  jobs: (value) => asChecked(() => parseJobSettings(value)),
  sharedInPlace: (value) => (typeof value === "boolean" ? null : "is to be true or false"),
};

export const FEATURE_FIELDS: readonly string[] = Object.keys(CHECKS);

export type Workspace = FoundWorkspace<FeatureFields>;

/** Resolves the workspace, store, owner and settings in force. Throws `E_CONFIG`, `E_INVALID_ARGUMENT`, `E_IO`. */
export function findWorkspace(said: Said, place: Place): Workspace {
  return findWorkspaceWith(said, place, CHECKS);
}

/** Opens a workspace or a store; see `openHoldfastWith`. */
export async function openHoldfast(options: HoldfastOptions = {}): Promise<Holdfast> {
  return openHoldfastWith(options, CHECKS);
}

/** Opens the workspace that a folder belongs to; see `openAround`. */
export async function openWorkspaceAround(folder: string, owner: string): Promise<OpenedAround | null> {
  return openAround(folder, owner, CHECKS);
}
