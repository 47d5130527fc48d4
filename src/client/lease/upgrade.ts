/** Waits for an upgrade in the same queue as any other wait, with a place at its head. */

import { checkOptions, type OptionNames } from "../../base/check-options.js";
import type { Duration } from "../../base/duration.js";
import type { Want } from "../../lock/grant.js";
import type { GrantRef, Presented } from "../../store/contract.js";
import { parseSignal, parseWait } from "../options.js";
import { type Granted, untilGranted } from "../waiting/wait-in-queue.js";
import type { LeaseHome } from "./lease-context.js";

export interface UpgradeOptions {
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
}

const UPGRADE: OptionNames<UpgradeOptions> = { wait: true, signal: true };

/**
 * What its client holds is looked at anew with each try: one that took a later node meanwhile could wait in a circle.
 * `E_LOCK_CONFLICT`, `E_LOCK_TIMEOUT`, `E_LOCK_ORDER`, and what a renewal is refused with.
 */
export function untilUpgraded(
  home: LeaseHome,
  grant: GrantRef,
  presented: () => readonly Presented[],
  options: UpgradeOptions,
): Promise<Granted> {
  checkOptions(options, UPGRADE);
  const { store, party, closing, looks } = home;
  const wants: readonly Want[] = [{ resource: grant.resource, mode: "write", permits: null }];
  return untilGranted(
    {
      wants,
      waitMs: parseWait(options.wait ?? home.wait),
      closing,
      signal: parseSignal(options.signal),
      looks,
      ask: (waiting) => store.locks.upgrade({ ...waiting, grant, party, presented: presented() }),
      look: () => null,
      leave: (ticketId, report) => store.locks.leave(ticketId, wants, party, report),
    },
    store,
    party.nonce,
  );
}
