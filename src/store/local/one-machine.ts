/**
 * Ensures that a store of files serves one machine. The machine is on record; when the folder appears on another one,
 * that one adopts it, unless something in it is still held from the first.
 */

import { isElsewhere } from "../../base/boot.js";
import { HoldfastError } from "../../base/errors.js";
import type { Grant } from "../../lock/grant.js";
import { isExpired, isForeign } from "../../lock/profile.js";
import type { Instant } from "../../lock/time.js";
import type { ListPage } from "../contract.js";
import type { LedgerRecords } from "../ledger.js";

const PAGE = 1_000;

/** As recorded in the store. */
export interface MachineRecord {
  readonly machine_id: string;
  readonly boot_id: string;
}

/** Containers on one kernel are one machine, and so is a machine before its restart. */
export function isOtherMachine(recorded: MachineRecord | null, now: Instant): boolean {
  return recorded !== null && isElsewhere({ machineId: recorded.machine_id, bootId: recorded.boot_id }, now);
}

export function machineRecord({ machineId, bootId }: Instant): MachineRecord {
  return { machine_id: machineId, boot_id: bootId };
}

/** `E_CONFIG` naming the other machine's holder. */
export function assertNothingForeign(records: LedgerRecords, now: Instant, url: string): void {
  for (let after: ListPage["after"] = null; ; ) {
    const page: Grant[] = records.list({ prefix: null, after, limit: PAGE });
    const foreign = page.find((grant) => isForeign(grant, now) && !isExpired(grant, now));
    if (foreign !== undefined)
      throw new HoldfastError(
        "E_CONFIG",
        `${url} is in use on another machine: ${foreign.resource} is held by ${foreign.owner} (${foreign.holderId})`,
        {
          reason: "other_machine",
          next: ["Give each machine a store of its own, or release what is held there first."],
        },
      );
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = { resource: last.resource, lockId: last.lockId };
  }
}
