/** Checks that the store exists, has a version that this one knows, and is whole. */
import { isHoldfastError } from "../../../base/errors.js";
import type { Check, Diagnosis, Patient } from "../check.js";

export const storeFiles: Check = {
  name: "store",
  look({ store, workspace }: Patient): readonly Diagnosis[] {
    if (store === "missing")
      return [
        {
          code: "STORE_MISSING",
          message: `there is no store at ${workspace.where} yet`,
          next: ["Nothing needs to be done. If there should be one, look at `holdfast config show`."],
        },
      ];
    if (store === "elsewhere")
      return [
        {
          code: "STORE_NOT_EXAMINED",
          message: `${workspace.where} lives in the memory of a process`,
          next: ["Look at it from that process."],
        },
      ];
    if (store instanceof Error) return [cannotOpen(store)];
    const restore = "Stop everything that uses the store, keep a copy of it, and restore from a backup.";
    return store.integrity().map((message) => ({ code: "DATABASE_DAMAGED", message, next: [restore] }));
  },
};

function cannotOpen(error: Error): Diagnosis {
  const { message } = error;
  if (isHoldfastError(error, "E_FORMAT_UNSUPPORTED"))
    return { code: "STORE_NEWER", message, next: ["Update holdfast."] };
  const next = isHoldfastError(error) ? error.next : ["Look at the files of the store: permission, space, disk."];
  return { code: "STORE_UNREADABLE", message, next };
}
