/** Converts the keys and paths in an agent's arguments to keys. */
import { invalidArgument } from "../../../base/errors.js";
import type { Run } from "./run.js";

export interface Named {
  readonly keys?: readonly string[] | undefined;
  readonly paths?: readonly string[] | undefined;
}

/** Each once. `E_INVALID_ARGUMENT` when there are none. */
export function wantedKeys(run: Run, named: Named): readonly string[] {
  const wanted = namedKeys(run, named);
  if (wanted.length === 0) throw invalidArgument("paths", "name at least one path or key");
  return wanted;
}

export function namedKeys(run: Run, { keys = [], paths = [] }: Named): readonly string[] {
  return [...new Set([...run.keysOfPaths(paths), ...keys])];
}
