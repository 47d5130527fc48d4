/**
 * Checks that users outside the group can reach none of the files that guard the store: a user who may read such a file can
 * keep everyone out with a shared kernel lock on it.
 */
import { dirname, join } from "node:path";
import { HOME } from "../../../base/home-folder.js";
import { lookUp } from "../../../platform/look-up.js";
import { type Check, type Diagnosis, type Patient, storeOf } from "../check.js";

const OTHERS_READ = 0o004;
const OTHERS_SEARCH = 0o001;

export const rightsForOthers: Check = {
  name: "rights for others",
  look: (patient) => foldersOf(patient).flatMap(lookAt),
};

/** The workspace's own folder, and that of a store that lies elsewhere. */
function foldersOf(patient: Patient): readonly string[] {
  const { root } = patient.workspace;
  const home = root === null ? null : join(root, HOME);
  const guards = (storeOf(patient)?.guards ?? []).filter((guard) => home === null || !guard.startsWith(`${home}/`));
  const open = guards
    .filter((guard) => ((lookUp(guard)?.mode ?? 0) & OTHERS_READ) !== 0)
    .map((guard) => dirname(guard));
  return [...new Set([...(home === null ? [] : [home]), ...open.slice(0, 1)])];
}

function lookAt(folder: string): Diagnosis[] {
  const mode = lookUp(folder)?.mode ?? 0;
  if ((mode & OTHERS_SEARCH) === 0) return [];
  return [
    {
      code: "RIGHTS_FOR_OTHERS",
      message: `users outside the group may look into ${folder} (mode ${(mode & 0o7777).toString(8).padStart(4, "0")})`,
      next: [`chmod -R o= ${folder}`],
    },
  ];
}
