/**
 * Reads `.holdfastignore` in the payload's own folder, in the syntax of .gitignore. Files that it names are neither
 * saved nor touched.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ignore, { type Ignore } from "ignore";
import { ioError } from "../../../base/errors.js";

const IGNORE_FILE = ".holdfastignore";

export interface IgnoreRules {
  ignores(path: string, isFolder: boolean): boolean;
}

/** The package remembers every path it was asked about: it is made anew before that is much. */
const MOST_ASKED = 10_000;

const NOTHING: IgnoreRules = { ignores: () => false };

export function readIgnoreRules(payload: string): IgnoreRules {
  const path = join(payload, IGNORE_FILE);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return NOTHING;
    throw ioError(error, "read", path);
  }
  // The package is CommonJS: what `import` gives is the function itself, which its types do not know.
  const make = (): Ignore => (ignore as unknown as (options: object) => Ignore)({ allowRelativePaths: true }).add(text);
  let rules = make();
  let asked = 0;
  return {
    ignores(path_, isFolder) {
      asked += 1;
      if (asked % MOST_ASKED === 0) rules = make();
      return rules.ignores(isFolder ? `${path_}/` : path_);
    },
  };
}
