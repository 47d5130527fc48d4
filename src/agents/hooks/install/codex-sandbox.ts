/**
 * Lets commands in the sandbox of Codex write the store from a linked worktree: there the sandbox admits only the worktree,
 * and the store lies in the main one. The setting is `writable_roots` of `[sandbox_workspace_write]` in `.codex/config.toml`.
 * `hook install codex` and `init --agents` write it, `--uninstall` removes it, and `doctor hooks` reports where it is missing.
 *
 * The file is edited as text, so that everything else in it stays as it is. A setting that is written in another way, as an
 * inline table or with dotted keys, is left alone.
 */
import { join } from "node:path";
import { HOME } from "../../../base/home-folder.js";
import type { FilePart } from "./change-plan.js";
import { type Marks, putBlock, takeBlock } from "./marked-block.js";

export const CODEX_CONFIG = ".codex/config.toml";
const MARKS: Marks = { begin: "# >>> sandbox for holdfast", end: "# <<< sandbox for holdfast" };
const HEADER = /^[ \t]*\[[ \t]*sandbox_workspace_write[ \t]*\][ \t]*(?:#.*)?$/m;
const NEXT_HEADER = /^[ \t]*\[[^,]*\][ \t]*(?:#.*)?$/m;
const OTHER_FORM = /^[ \t]*sandbox_workspace_write[ \t]*[.=]/m;

/** Returns the folder that a process must be able to write. */
export function folderOfStore(root: string): string {
  return join(root, HOME);
}

export function codexSandboxPart(root: string): FilePart {
  const folder = JSON.stringify(folderOfStore(root));
  const body = `[sandbox_workspace_write]\nwritable_roots = [${folder}]`;
  const ownLine = `\nwritable_roots = [${folder}] # holdfast`;
  return {
    path: CODEX_CONFIG,
    part: "sandbox",
    put(text) {
      const now = text ?? "";
      if (letsWrite(now, folderOfStore(root))) return text;
      const roots = rootsIn(now);
      if (roots !== null) {
        const isEmpty = roots.values.length === 0;
        return `${now.slice(0, roots.start)}${folder}${isEmpty ? "" : ", "}${now.slice(roots.start)}`;
      }
      const header = HEADER.exec(now);
      if (header !== null) {
        const end = header.index + header[0].length;
        return now.slice(0, end) + ownLine + now.slice(end);
      }
      return OTHER_FORM.test(now) ? text : putBlock(now, MARKS, body, "end");
    },
    take(text) {
      if (text.includes(`${MARKS.begin}\n${body}\n${MARKS.end}`)) return takeBlock(text, MARKS, "end") || null;
      const at = text.indexOf(ownLine);
      if (at >= 0) return text.slice(0, at) + text.slice(at + ownLine.length);
      const { start } = rootsIn(text) ?? { start: text.length };
      const list = text.slice(start);
      return list.startsWith(folder) ? text.slice(0, start) + list.slice(folder.length).replace(/^,[ \t]*/, "") : text;
    },
  };
}

/** Whether the sandbox of this configuration lets a command write the folder. */
export function letsWrite(text: string, folder: string): boolean {
  // mutant: codex-without-sandbox: danger-full-access → no-such-mode
  if (/^[ \t]*sandbox_mode[ \t]*=[ \t]*["']danger-full-access["']/m.test(text)) return true;
  return rootsIn(text)?.values.includes(folder) ?? false;
}

interface Roots {
  /** Behind the opening bracket. */
  readonly start: number;
  readonly values: readonly string[];
}

/** Returns the list of the table, or null when there is none. */
function rootsIn(text: string): Roots | null {
  const header = HEADER.exec(text);
  if (header === null) return null;
  const from = header.index + header[0].length;
  const rest = text.slice(from);
  const table = rest.slice(0, NEXT_HEADER.exec(rest)?.index);
  const key = /^[ \t]*writable_roots[ \t]*=[ \t]*\[/m.exec(table);
  if (key === null) return null;
  const start = from + key.index + key[0].length;
  return { start, values: stringsUpToBracket(text.slice(start)) };
}

/** Returns the strings of a list, comments left out. */
function stringsUpToBracket(list: string): readonly string[] {
  const found: string[] = [];
  for (const [piece] of list.matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|#.*|\]/g)) {
    if (piece === "]") break;
    if (piece.startsWith("'")) found.push(piece.slice(1, -1));
    if (piece.startsWith('"')) found.push(unescaped(piece));
  }
  return found;
}

function unescaped(piece: string): string {
  try {
    return JSON.parse(piece) as string;
  } catch {
    return piece.slice(1, -1);
  }
}
