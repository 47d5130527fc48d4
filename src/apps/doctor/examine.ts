/**
 * The doctor: runs all checks and, with `--repair`, the repairs that are safe; then looks again.
 *
 * A check that fails by itself, because what it looks at cannot be read, is a finding too: nothing stops the others.
 */

import { type HoldfastError, isHoldfastError } from "../../base/errors.js";
import type { Workspace } from "../../features/configuration.js";
import { createSystemClock } from "../../platform/clock.js";
import { examineStore } from "../../store/open.js";
import type { Check, Diagnosis, Patient, Surgery } from "./check.js";
import { auditChains } from "./checks/audit-chains.js";
import { boardFiles } from "./checks/board-files.js";
import { databaseServer } from "./checks/database-server.js";
import { diskSpace } from "./checks/disk-space.js";
import { fileSystem } from "./checks/file-system.js";
import { guardFiles } from "./checks/guard-files.js";
import { innerFolders } from "./checks/inner-folders.js";
import { keptTokens } from "./checks/kept-tokens.js";
import { leftGrants } from "./checks/left-grants.js";
import { leftPublishes } from "./checks/left-publishes.js";
import { leftSnapshots } from "./checks/left-snapshots.js";
import { linkedWorktrees } from "./checks/linked-worktrees.js";
import { oldProofs } from "./checks/old-proofs.js";
import { rightsForOthers } from "./checks/rights-for-others.js";
import { staleTickets } from "./checks/stale-tickets.js";
import { storeFiles } from "./checks/store-files.js";
import { temporaryStore } from "./checks/temporary-store.js";
import { unreadableRecords } from "./checks/unreadable-records.js";
import { workspaceConfig } from "./checks/workspace-config.js";
import { FINDINGS, type Finding } from "./finding.js";
import { withSurgery } from "./surgery.js";

/** In the order of their findings. Features add theirs here. */
export const CHECKS: readonly Check[] = [
  workspaceConfig,
  innerFolders,
  linkedWorktrees,
  storeFiles,
  databaseServer,
  fileSystem,
  temporaryStore,
  diskSpace,
  guardFiles,
  rightsForOthers,
  unreadableRecords,
  leftGrants,
  staleTickets,
  oldProofs,
  keptTokens,
  auditChains,
  leftPublishes,
  leftSnapshots,
  boardFiles,
];

export interface DoctorReport {
  /** What is wrong now, after the repairs if there were any. */
  readonly findings: readonly Finding[];
  readonly repaired: readonly Repair[];
}

interface Repair {
  readonly code: Finding["code"];
  /** What was done, or why it could not be. */
  readonly message: string;
  readonly ok: boolean;
}

export interface DoctorOptions {
  readonly repair?: boolean;
  readonly checks?: readonly Check[];
  /** Says where this user's tokens are kept. Default: that of the process. */
  readonly env?: NodeJS.ProcessEnv;
}

export async function examine(
  workspace: Workspace,
  { repair = false, checks = CHECKS, env = process.env }: DoctorOptions = {},
): Promise<DoctorReport> {
  const found = await lookAt(workspace, checks, env);
  if (!repair || !found.some(isSafe)) return { findings: found.map(toFinding), repaired: [] };
  const repaired = await repairAll(workspace, found.filter(isSafe));
  return { findings: (await lookAt(workspace, checks, env)).map(toFinding), repaired };
}

/** When the configuration is what is wrong there is no workspace to look at: that is the finding. */
export function reportOfConfig({ message, next }: HoldfastError): DoctorReport {
  return { findings: [toFinding({ code: "CONFIG_INVALID", message, next })], repaired: [] };
}

async function lookAt(
  workspace: Workspace,
  checks: readonly Check[],
  env: NodeJS.ProcessEnv,
): Promise<readonly Diagnosis[]> {
  const patient = await admit(workspace, env);
  try {
    const found: Diagnosis[] = [];
    for (const check of checks) found.push(...(await lookOnce(check, patient)));
    return [...new Map(found.map((each) => [`${each.code} ${each.message}`, each])).values()];
  } finally {
    if (typeof patient.store !== "string" && "close" in patient.store) await patient.store.close();
  }
}

async function admit(workspace: Workspace, env: NodeJS.ProcessEnv): Promise<Patient> {
  const store = await examineStore(workspace.store).catch((error: unknown) => error as Error);
  const none = workspace.store.startsWith("memory:") ? "elsewhere" : "missing";
  return { workspace, clock: createSystemClock(), env, store: store ?? none };
}

async function lookOnce(check: Check, patient: Patient): Promise<readonly Diagnosis[]> {
  try {
    return await check.look(patient);
  } catch (error) {
    const { message } = error as Error;
    // mutant: doctor-read-only: "read_only" → ""
    if (isHoldfastError(error, "E_STORE_UNAVAILABLE") && error.details.reason === "read_only")
      return [
        {
          code: "STORE_READ_ONLY",
          message: "the server only reads: the places in the queue, and what goes with them, were not looked at",
          next: ["For all checks, name the primary in the URL."],
        },
      ];
    const next = ["Mend or restore what the message names, then look again."];
    return [{ code: "STORE_UNREADABLE", message, next }];
  }
}

type Repairable = Diagnosis & Required<Pick<Diagnosis, "repair">>;

function isSafe(diagnosis: Diagnosis): diagnosis is Repairable {
  return diagnosis.repair !== undefined;
}

function repairAll(workspace: Workspace, found: readonly Repairable[]): Promise<Repair[]> {
  return withSurgery(workspace, async (surgery) => {
    const done: Repair[] = [];
    for (const diagnosis of found) done.push(await repairOne(diagnosis, surgery));
    return done;
  });
}

async function repairOne({ code, repair }: Repairable, surgery: Surgery): Promise<Repair> {
  try {
    return { code, message: await repair(surgery), ok: true };
  } catch (error) {
    return { code, message: (error as Error).message, ok: false };
  }
}

function toFinding(diagnosis: Diagnosis): Finding {
  const { code, message, next } = diagnosis;
  const { category, severity } = FINDINGS[code];
  return { category, severity, code, message, next, auto_safe: isSafe(diagnosis) };
}
