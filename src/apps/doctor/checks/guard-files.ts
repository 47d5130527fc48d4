/** Checks that the files whose kernel locks guard the store exist, and that this user may lock them. */
import { accessSync, constants, statSync } from "node:fs";
import { type Check, type Diagnosis, storeOf } from "../check.js";

export const guardFiles: Check = {
  name: "guard files",
  look: (patient) => (storeOf(patient)?.guards ?? []).flatMap(lookAt),
};

function lookAt(path: string): Diagnosis[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined)
    return [
      {
        code: "GUARD_MISSING",
        message: `${path} is missing`,
        next: ["Nothing needs to be done; but find out who deletes files of a store that is in use."],
      },
    ];
  const problem = !stat.isFile() ? "is no file" : isUsable(path) ? null : "may not be written by this user";
  if (problem === null) return [];
  return [
    {
      code: "GUARD_PERMISSIONS",
      message: `${path} ${problem}`,
      next: ["Run everything that shares a workspace as one user, or give the group write permission to all of it."],
    },
  ];
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
