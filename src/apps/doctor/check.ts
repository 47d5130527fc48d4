/**
 * Defines a check of the doctor. A check examines one thing and reports its faults. It changes nothing: not a byte,
 * not a time stamp, not a file. A fault that is safe to repair without asking comes with its repair, which runs only
 * under `--repair`.
 *
 * To add one: a file in `checks/` exporting a `Check`, its codes in `finding.ts`, its line in `CHECKS` of `examine.ts` and
 * in docs/runbook.md.
 */

import type { Workspace } from "../../features/configuration.js";
import type { Clock } from "../../platform/clock.js";
import type { Examination, Party, Store } from "../../store/contract.js";
import type { FindingCode } from "./finding.js";

/** What there is to look at. */
export interface Patient {
  readonly workspace: Workspace;
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** `missing`: there is no store yet. `elsewhere`: it does not lie in files. An error: it could not be opened. */
  readonly store: Examination | "missing" | "elsewhere" | Error;
}

/** What repairs may use. Opened when the first repair asks for it. */
export interface Surgery {
  readonly store: Store;
  readonly clock: Clock;
  readonly party: Party;
}

export interface Diagnosis {
  readonly code: FindingCode;
  readonly message: string;
  readonly next: readonly string[];
  /** Present only when it is safe without asking anybody. Says what was done. */
  readonly repair?: (surgery: Surgery) => Promise<string>;
}

export interface Check {
  readonly name: string;
  look(patient: Patient): readonly Diagnosis[] | Promise<readonly Diagnosis[]>;
}

/** The store, when it can be looked into; else null, and another check says why. */
export function storeOf({ store }: Patient): Examination | null {
  return typeof store === "string" || store instanceof Error ? null : store;
}
