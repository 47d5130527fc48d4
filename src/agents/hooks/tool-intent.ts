/** Finds the files that a tool is about to write, from its name and arguments. */
import { type Intent, NO_INTENT } from "./call.js";
import { type Fields, notUnderstood, textAt } from "./fields.js";
import { patchFiles } from "./patch-files.js";
import { shellIntent } from "./shell/shell-intent.js";

const PATH_FIELDS = ["file_path", "notebook_path", "filePath", "path", "target_file", "absolute_path"];
const WRITERS = /^(write|edit|multiedit|notebookedit|write_file|replace|strreplace|delete|create|tabwrite)$/i;
const PATCHERS = /^(apply_patch|applypatch)$/i;
const SHELLS = /^(bash|shell|run_shell_command|exec_command|local_shell|powershell)$/i;
/** Tools of MCP servers that write files say so in their names. */
const MCP_WRITERS = /^mcp__.*(write|edit|create|move|rename|delete|remove)/i;
const REMOVERS = /move|rename|delete|remove/i;

/** Throws when a tool that writes does not say what. A tool of another kind writes nothing that concerns us. */
export function toolIntent(tool: string, input: Fields, cwd: string): Intent {
  if (SHELLS.test(tool)) return shellIntent(commandOf(input), folderOf(input, cwd));
  const patch = PATCHERS.test(tool) || WRITERS.test(tool) ? patchOf(input) : null;
  if (patch !== null) return { ...NO_INTENT, files: patchFiles(patch) };
  if (PATCHERS.test(tool)) throw notUnderstood(`${tool} came without a patch`);
  if (!WRITERS.test(tool) && !MCP_WRITERS.test(tool)) return NO_INTENT;
  const files = pathsIn(input);
  if (files.length === 0 && WRITERS.test(tool)) throw notUnderstood(`${tool} does not say which file it writes`);
  return { ...NO_INTENT, files, removed: REMOVERS.test(tool) ? files : [] };
}

function patchOf(input: Fields): string | null {
  for (const name of ["command", "input", "patch"]) {
    const value = input[name];
    const text = (Array.isArray(value) ? value : [value]).find((word) => String(word).includes("*** Begin Patch"));
    if (typeof text === "string") return text;
  }
  return null;
}

function commandOf(input: Fields): string {
  const text = wordsOf(input.command ?? input.cmd);
  if (text === null) throw notUnderstood("a shell command came without its text");
  return text;
}

/** Some clients give words instead of a line: `["bash", "-lc", "…"]`. No shell looks into those. */
function wordsOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || !value.every((word) => typeof word === "string")) return null;
  return (value as string[]).map(quoted).join(" ");
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function folderOf(input: Fields, cwd: string): string {
  return textAt(input, "workdir", "working_directory", "dir_path", "directory", "cwd") ?? cwd;
}

function pathsIn(input: Fields): string[] {
  const named = [...PATH_FIELDS, "source", "destination", "old_path", "new_path"].flatMap((name) => {
    const value = input[name];
    return typeof value === "string" && value !== "" ? [value] : [];
  });
  return [...new Set(named)];
}
