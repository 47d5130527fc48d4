/** Makes the record of a new lock, and names the process that it is bound to. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { invalidArgument } from "../../base/errors.js";
import { recordHashOf, SCHEMA_VERSION, type StoredRecord } from "../../client/deliverable/record.js";
import type { Proof } from "../../lock/grant.js";
import { isoTime } from "../../lock/time.js";
import type { ProofOfLife } from "../../platform/liveness/proof-of-life.js";
import { holderIdOf, pidNamespace, startTimeOf, thisMachine } from "../../platform/machine.js";
import type { Room } from "./guarded-folder.js";

/** Another process by its pid and start time, or none at all. */
export type Bound =
  | { readonly pid: number; readonly startTime: string }
  | { readonly pid: null; readonly startTime: null };

/** Null: to the calling process. `E_INVALID_ARGUMENT` when there is no such process. */
export function boundTo(pid: number | undefined, detached: boolean): Bound | null {
  if (pid === undefined) return detached ? { pid: null, startTime: null } : null;
  if (!Number.isInteger(pid) || pid < 1) throw invalidArgument("pid", "the id of a process");
  const startTime = startTimeOf(pid);
  if (startTime === null) throw invalidArgument("pid", `there is no process ${pid}`);
  return { pid, startTime };
}

export interface NewLock {
  readonly deliverableId: string;
  readonly holder: string;
  readonly token: string;
  readonly nonce: string;
  readonly leaseMs: number;
  readonly bound: Bound | null;
  readonly resources: readonly string[];
  /** Of the calling process, when it is bound to that. */
  readonly proof: ProofOfLife | null;
}

export function newRecord(room: Room, wanted: NewLock): StoredRecord {
  const { bound, leaseMs } = wanted;
  const at = isoTime(room.now.wallMs);
  return {
    schema_version: SCHEMA_VERSION,
    deliverable_id: wanted.deliverableId,
    holder: wanted.holder,
    acquired: at,
    lease_duration_s: Math.ceil(leaseMs / 1000),
    pid: bound === null ? process.pid : bound.pid,
    lock_id: randomUUID(),
    fencing_token: room.mint(),
    last_renewed_at: at,
    host: hostname(),
    boot_id: room.now.bootId,
    start_time: bound === null ? startTimeOf(process.pid) : bound.startTime,
    nonce: wanted.nonce,
    store: {
      token_hash: recordHashOf(wanted.token),
      holder_id: holderIdOf(bound?.pid ?? process.pid),
      proof: proofOf(wanted),
      machine_id: room.now.machineId,
      renewed_boot_ms: room.now.bootMs,
      folder: room.folder,
      resources: wanted.resources,
    },
  };
}

function proofOf({ bound, proof }: NewLock): Proof {
  if (proof !== null) return { kind: "file", file: proof.identity, inherited: false };
  if (bound === null || bound.pid === null) return { kind: "none" };
  const { bootId } = thisMachine();
  return { kind: "pid", pid: bound.pid, startTime: bound.startTime, pidNamespace: pidNamespace(), bootId };
}
