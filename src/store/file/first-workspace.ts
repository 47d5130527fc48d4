/**
 * Keeps the id of the first workspace that recorded a file store, in `workspace.json` beside `store.json`. The file comes
 * whole, in one rename under the store's guard, and is never changed: a crash before that leaves none, and the next
 * workspace is the first.
 */
import { join } from "node:path";
import { underGuard } from "../../files/guard.js";
import { SCHEMA_VERSION } from "../../lock/grant.js";
import { BlockFile } from "./tree/block-file.js";

interface FirstWorkspace {
  readonly schema_version: number;
  readonly id: string;
}

export const FIRST_WORKSPACE = "workspace.json";

/** As `Store.adoptWorkspace`. */
export async function adoptWorkspace(root: string, id: string): Promise<string> {
  return await underGuard(join(root, "store.guard"), () => {
    const file = new BlockFile<FirstWorkspace>(join(root, FIRST_WORKSPACE));
    try {
      const found = file.read();
      // mutant: file-first-workspace: if (found !== null) return → if (found !== null && found.id === id) return
      if (found !== null) return found.id;
      file.write({ schema_version: SCHEMA_VERSION, id }, true);
      return id;
    } finally {
      file.close();
    }
  });
}
