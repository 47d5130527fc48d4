/** Lists the files that a patch in Codex's own format adds, changes and removes, and the paths that it moves them to. */
import { notUnderstood } from "./fields.js";

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const HEADER = /^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/;

/** Throws when it is no patch, or one that names no file. A line of a file's content is never taken for a header. */
export function patchFiles(text: string): string[] {
  const files = new Set<string>();
  let isInside = false;
  for (const line of text.split(/\r?\n/)) {
    if (line.trimEnd().endsWith(BEGIN)) isInside = true;
    else if (line.trimEnd() === END) isInside = false;
    else if (isInside) {
      const file = HEADER.exec(line)?.[1]?.trimEnd();
      if (file) files.add(file);
    }
  }
  if (files.size === 0) throw notUnderstood("a patch that names no file");
  return [...files];
}
