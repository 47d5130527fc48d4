/** Checks that there is room on the disk for a step of the store. Without it nothing is granted, renewed or released. */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { storeMark } from "../../../client/workspace/find-workspace.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";

/** Some steps: what SQLite puts beside its database, and a few pages. */
const LEAST_BYTES = 1 << 20;

export const diskSpace: Check = {
  name: "disk space",
  look(patient): readonly Diagnosis[] {
    const mark = storeMark(patient.workspace.store);
    if (mark === null || storeOf(patient) === null) return [];
    const { bavail, bsize, files, ffree } = statfsSync(dirname(mark));
    const hasNames = files === 0 || ffree > 0; // Some file systems do not count them.
    if (bavail * bsize >= LEAST_BYTES && hasNames) return [];
    return [
      {
        code: "DISK_FULL",
        message: `the file system of ${dirname(mark)} has room for ${bavail * bsize} bytes${hasNames ? "" : " and for no file"}`,
        next: ["Free some space; what could not be written was refused, and nothing is half done."],
      },
    ];
  },
};
