/** Finds how an agent tool starts holdfast: by name where it is on everyone's PATH, else by its path on this machine. */

import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { shellWord } from "../../../base/shell-word.js";

export interface Launcher {
  readonly command: string;
  readonly args: readonly string[];
  /** Only good on this machine. */
  readonly isLocal: boolean;
}

/** `main` is the file of the command that runs now. */
export function findLauncher(env: NodeJS.ProcessEnv, main: string): Launcher {
  if (isOnPath(env)) return { command: "holdfast", args: [], isLocal: false };
  return { command: process.execPath, args: [realpathSync(main)], isLocal: true };
}

/** As a line of shell. */
export function shellLine({ command, args }: Launcher, words: readonly string[]): string {
  return [command, ...args, ...words].map(shellWord).join(" ");
}

/** Folders that a package runner puts in front of the path are there for its own time only. */
function isOnPath(env: NodeJS.ProcessEnv): boolean {
  return (env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "" && !/node_modules[\\/]\.bin|[\\/]_npx[\\/]/.test(folder))
    .some((folder) => isExecutable(join(folder, process.platform === "win32" ? "holdfast.cmd" : "holdfast")));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
