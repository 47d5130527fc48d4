/**
 * Says which program a process runs: the name of its binary or, for an interpreter such as node, the script that it was
 * started with. A shell has no program here: it runs one program after the other, so its name identifies nothing.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { commandLineOf } from "./ancestors.js";

export interface Program {
  /** The name under which it was started, and the names of its binary and script, without endings. */
  readonly names: readonly string[];
  /** Identifies the program among all processes; null for a shell, and where the system does not tell enough. */
  readonly path: string | null;
  readonly isShell: boolean;
  readonly words: readonly string[];
}

const SHELLS = /^-?(sh|bash|dash|zsh|ksh|ash|fish|csh|tcsh|busybox|pwsh|powershell|cmd)$/;
const INTERPRETERS = /^(node|nodejs|bun|deno|python[\d.]*)$/;
const ENDING = /\.(exe|cmd|[cm]?js|ts|py)$/;

export function programOf(pid: number): Program {
  return programFrom(wordsOf(pid), binaryOf(pid));
}

/** `binary` is the path of the executable file; null where it cannot be seen. */
export function programFrom(words: readonly string[], binary: string | null): Program {
  const [started = ""] = words;
  const file = binary ?? started;
  const names = [nameOf(started), nameOf(file)].filter((name) => name !== "");
  const isShell = names.some((name) => SHELLS.test(name));
  if (isShell) return { names, path: null, isShell, words };
  if (!INTERPRETERS.test(nameOf(file))) return { names, path: file === "" ? null : file, isShell, words };
  const script = words.slice(1).find((word) => !word.startsWith("-"));
  return { names: script === undefined ? names : [...names, nameOf(script)], path: script ?? null, isShell, words };
}

function nameOf(path: string): string {
  return basename(path.split(" ", 1)[0] ?? "").replace(ENDING, "");
}

function wordsOf(pid: number): readonly string[] {
  if (process.platform !== "linux") return commandLineOf(pid).split(/\s+/);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/\0+$/, "").split("\0");
  } catch {
    return [];
  }
}

function binaryOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/exe`).replace(/ \(deleted\)$/, "");
  } catch {
    return null;
  }
}
