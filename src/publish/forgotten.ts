/**
 * Stages that nobody has on record: a power cut took the manifest, which is not on the disk before it is sealed, and left
 * the folder. Nothing of a live writer is touched, by two proofs that each suffice: a manifest is on record before its
 * stage is made, so one without cannot be under way; and the folder has not changed since this machine started.
 */
import { lstatSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import type { Manifests } from "../store/contract.js";
import { entriesIn } from "../support/entries-in.js";
import { removeTree } from "../support/remove-tree.js";
import { isStageName } from "./stage-name.js";
import type { Target } from "./target.js";

const MOST_MANIFESTS = 1_000;
const MOST_LOOKED_AT = 1_000;

/** There are no power cuts in the life of a process, so it looks once at each target. */
const lookedAt = new WeakMap<Manifests, Set<string>>();

/** Removes those of this target. What cannot be removed now is left to the next process that publishes there. */
export async function removeForgotten(manifests: Manifests, storeUrl: string, target: Target): Promise<void> {
  const targets = lookedAt.get(manifests) ?? new Set<string>();
  if (targets.has(target.path)) return;
  if (targets.size === MOST_LOOKED_AT) targets.clear();
  lookedAt.set(manifests, targets.add(target.path));
  try {
    const names = forgottenNames(storeUrl, target);
    if (names.length === 0) return;
    // Asked for after the names: whoever has made a folder since has its manifest here.
    const known = await manifests.list({ target: target.path, state: null, after: null, limit: MOST_MANIFESTS });
    if (known.length === MOST_MANIFESTS) return;
    for (const name of names) if (!known.some(({ id }) => id === name)) await removeTree(join(target.tmp, name));
  } catch {
    // They lie about, and nothing else comes of it.
  }
}

function forgottenNames(storeUrl: string, { id, path, tmp }: Target): string[] {
  const found: string[] = [];
  for (const { name } of entriesIn(tmp) ?? [])
    if (name !== id && isStageName(name, storeUrl, path) && isOlderThanBoot(join(tmp, name))) found.push(name);
  return found;
}

/** By the time that programs cannot set. */
function isOlderThanBoot(path: string): boolean {
  const { ctimeMs } = lstatSync(path);
  return ctimeMs < Date.now() - uptime() * 1_000;
}
