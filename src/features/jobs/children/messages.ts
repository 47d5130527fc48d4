/** The messages between the worker and the process of a handler. */
import type { JobRecord } from "../model.js";
import type { JobError } from "../scripts/state/slots.js";

/** To the handler's process. */
export type Order =
  | {
      readonly kind: "begin";
      readonly job: JobRecord;
      readonly module: string;
      readonly store: string;
      readonly storeId: string;
      readonly owner: string;
      /** Of its locks. */
      readonly token: string;
    }
  | { readonly kind: "abort"; readonly error: JobError }
  /** The answer to `release`; null when it worked. */
  | { readonly kind: "released"; readonly error: JobError | null };

/** From it. Progress and results are JSON. */
export type Report =
  | { readonly kind: "progress"; readonly value: string }
  | { readonly kind: "on settle"; readonly statement: string; readonly values: readonly unknown[] }
  | { readonly kind: "release" }
  | { readonly kind: "done"; readonly result: string }
  | { readonly kind: "failed"; readonly error: JobError };
