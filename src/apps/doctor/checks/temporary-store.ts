/**
 * Checks that the store does not lie in a temporary folder while the workspace lies elsewhere: a service with a temporary
 * folder of its own (systemd: `PrivateTmp`) has another store there, and such folders are emptied. A workspace that lies in a
 * temporary folder itself is seen, and goes, with its store.
 */
import { dirname, sep } from "node:path";
import { storeMark } from "../../../client/workspace/find-workspace.js";
import { existingTextPath } from "../../../files/real-path.js";
import { isThere } from "../../../platform/look-up.js";
import type { Check, Diagnosis } from "../check.js";

export const temporaryStore: Check = {
  name: "temporary store",
  look({ workspace: { root, store }, env }): readonly Diagnosis[] {
    const mark = storeMark(store);
    if (mark === null || !isThere(dirname(mark))) return [];
    const folders = ["/tmp", "/var/tmp", ...(env.TMPDIR ? [env.TMPDIR] : [])].filter(isThere).map(existingTextPath);
    const within = (path: string): string | undefined => {
      const real = existingTextPath(path);
      return folders.find((folder) => `${real}${sep}`.startsWith(`${folder}${sep}`));
    };
    const folder = within(dirname(mark));
    // mutant: doctor-temporary-store: (root !== null && within(root) !== undefined) → folder !== ""
    if (folder === undefined || (root !== null && within(root) !== undefined)) return [];
    return [
      {
        code: "STORE_TEMPORARY",
        message: `the store ${mark} lies in the temporary folder ${folder}`,
        next: [
          root === null
            ? "Keep the store in a folder that lasts, and that all of its users see."
            : `holdfast init --root ${root} --store sqlite:PATH moves it while nothing is held.`,
        ],
      },
    ];
  },
};
