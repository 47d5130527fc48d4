/**
 * Finds stages without a record: a power cut took the manifest, which is not on the disk before it is sealed, and left
 * the folder. Nothing of a live writer is touched, by two proofs that each suffice: a manifest is on record before its
 * stage is made, so a stage without one cannot be under way; and the folder has not changed since this machine started.
 */
import { lstatSync } from "node:fs";
import { uptime } from "node:os";
import { dirname, join } from "node:path";
import type { Manifests } from "../../../client/kernel.js";
import { entriesIn } from "../../../files/folder-entries.js";
import { removeTree } from "../../../files/remove-tree.js";
import { ageOfFile } from "../../../platform/clock.js";
import { isStageName } from "../stage/stage-name.js";
import type { Target } from "../target.js";
import { manifestsHere } from "./manifests-here.js";

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
    for (const stage of await forgottenAt(target, { manifests, url: storeUrl })) await removeTree(stage);
  } catch {
    // They lie about, and nothing else comes of it.
  }
}

interface Records {
  readonly manifests: Pick<Manifests, "list">;
  readonly url: string;
}

/** Those of all targets that the store knows, for those who look after a workspace. Removes nothing. */
export async function* forgottenIn(
  store: Records,
): AsyncGenerator<{ readonly target: string; readonly stage: string }> {
  const places = new Map<string, string>();
  for await (const { target, tmpPath } of manifestsHere(store.manifests)) places.set(target, dirname(tmpPath));
  for (const [path, tmp] of places)
    for (const stage of await forgottenAt({ path, tmp }, store)) yield { target: path, stage };
}

async function forgottenAt(place: Pick<Target, "path" | "tmp">, { manifests, url }: Records): Promise<string[]> {
  const names = namesBeforeBoot(url, place);
  if (names.length === 0) return [];
  // Asked for after the names: whoever has made a folder since has its manifest here.
  const known = await manifests.list({ target: place.path, state: null, after: null, limit: MOST_MANIFESTS });
  if (known.length === MOST_MANIFESTS) return [];
  // mutant: publish-forgotten-on-record: !known.some(({ id }) => id === name) → !known.some(({ id }) => id === url)
  return names.filter((name) => !known.some(({ id }) => id === name)).map((name) => join(place.tmp, name));
}

function namesBeforeBoot(storeUrl: string, { path, tmp }: Pick<Target, "path" | "tmp">): string[] {
  const found: string[] = [];
  for (const { name } of entriesIn(tmp) ?? [])
    if (isStageName(name, storeUrl, path) && isOlderThanBoot(join(tmp, name))) found.push(name);
  return found;
}

/** By the time that programs cannot set. */
function isOlderThanBoot(path: string): boolean {
  const { ctimeMs } = lstatSync(path);
  // mutant: publish-forgotten-since-boot: > uptime() * 1_000; → > -uptime() * 1_000;
  return ageOfFile(ctimeMs) > uptime() * 1_000;
}
