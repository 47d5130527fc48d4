/** Checks that the store lies on a file system to which only this machine writes. */
import { dirname } from "node:path";
import { isHoldfastError } from "../../../base/errors.js";
import { storeMark } from "../../../client/workspace/find-workspace.js";
import { assertLocalFileSystem } from "../../../platform/file-system.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";

export const fileSystem: Check = {
  name: "file system",
  look(patient): readonly Diagnosis[] {
    const mark = storeMark(patient.workspace.store);
    if (mark === null || storeOf(patient) === null) return [];
    try {
      assertLocalFileSystem(dirname(mark));
      return [];
    } catch (error) {
      if (!isHoldfastError(error, "E_CONFIG")) throw error;
      return [{ code: "FILE_SYSTEM_SHARED", message: error.message, next: error.next }];
    }
  },
};
