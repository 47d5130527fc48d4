/**
 * Removes unused large objects of a removed snapshot from a folder that stays for the sake of others in it. The index
 * goes first, because an object that it names counts as stored. So an index that names an unused one is written anew
 * without it, put in the place of the old one, and synced; then every large file that no index of the folder names is
 * removed.
 *
 * A crash leaves a file beside the index, which the next gc removes, or large files that no index names, which it finds.
 */
import { readdirSync, renameSync, rmSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../../../files/durable-file.js";
import { isThere } from "../../../platform/look-up.js";
import { createIndexRuns } from "../objects/index-runs.js";
import type { Marks } from "../objects/marks.js";
import { IS_LARGE } from "../objects/object-format.js";
import type { ObjectIndex } from "../objects/object-index.js";

/** `files` are the indexes of the folder that stay. Returns how many bytes each removed object had. */
export function sweepLarge(folder: string, files: readonly string[], index: ObjectIndex, used: Marks): number[] {
  const large = join(folder, "large");
  if (!isThere(large)) return [];
  const named = new Set<string>();
  for (const file of files) {
    const part = index.parts.findIndex((each) => each.folder === folder && each.file === file);
    let isOutdated = false;
    for (const object of index.list(part))
      if (object.isLarge && used.has(object)) named.add(object.path);
      else isOutdated ||= object.isLarge;
    // mutant: gc-large-named: if (isOutdated) writeAnew → if (isOutdated && part < 0) writeAnew
    if (isOutdated) writeAnew(folder, file, index, part, used);
  }
  return filesIn(large).flatMap((path) => (named.has(path) ? [] : [removed(path)]));
}

function writeAnew(folder: string, file: string, index: ObjectIndex, part: number, used: Marks): void {
  const fresh = `${file}.new`;
  for (const name of readdirSync(folder)) if (name.startsWith(fresh)) rmSync(join(folder, name));
  const runs = createIndexRuns(join(folder, fresh));
  for (const object of index.list(part))
    if (!object.isLarge || used.has(object))
      runs.note(Buffer.from(object.sha256, "hex"), object.isLarge ? IS_LARGE : object.offset, object.length);
  runs.finish(join(folder, fresh));
  renameSync(join(folder, fresh), join(folder, file));
  syncFolder(folder);
}

function filesIn(large: string): string[] {
  return readdirSync(large).flatMap((name) => readdirSync(join(large, name)).map((rest) => join(large, name, rest)));
}

function removed(path: string): number {
  const { size } = statSync(path);
  unlinkSync(path);
  return size;
}
