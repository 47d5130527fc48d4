/** Makes a workspace: the folder `.holdfast/` with its mark and its `.gitignore`. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";

const MARK = { schema_version: 1 };
/** Locks are this machine's business; the board is meant to be shared. */
const IGNORED = "/*\n!/.gitignore\n!/board/\n";

/** Makes `.holdfast/` with its mark. False when it was there. */
export function makeWorkspace(root: string): boolean {
  const home = join(root, HOME);
  const mark = join(home, "workspace.json");
  if (existsSync(mark)) return false;
  try {
    mkdirSync(home, { recursive: true });
    if (!existsSync(join(home, ".gitignore"))) writeFileSync(join(home, ".gitignore"), IGNORED);
    writeFileSync(mark, `${JSON.stringify(MARK)}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw ioError(error, "create", mark);
  }
}
