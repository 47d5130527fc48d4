/**
 * A window: gates that are open only while a lease is held. The holder that opened them closes them, on success and on
 * failure, and never closes those of another: when the lease has passed to another holder in the meantime, the gates
 * are that holder's.
 */
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import type { Lease } from "./lease.js";
import { isLoss } from "./loss.js";

export interface Window<Gate, Result> {
  /** Opens the gates. What it returns is handed to `apply` and `close`. */
  readonly open: (lease: Lease) => Gate | Promise<Gate>;
  readonly apply: (gate: Gate, lease: Lease) => Result | Promise<Result>;
  readonly close: (gate: Gate, lease: Lease) => void | Promise<void>;
}

const WINDOW: OptionNames<Window<unknown, unknown>> = { open: true, apply: true, close: true };

/**
 * `E_FENCING_MISMATCH` when somebody else took over before the gates were closed: then they were left alone. So they are when
 * the lease ran out and the store does not say whether somebody did: that error is thrown.
 */
export async function withWindow<Gate, Result>(lease: Lease, window: Window<Gate, Result>): Promise<Result> {
  checkOptions(window, WINDOW, "window");
  await lease.verify();
  const gate = await window.open(lease);
  let result: Result;
  try {
    await lease.verify();
    result = await window.apply(gate, lease);
  } catch (error) {
    if ((await takenOver(lease)) === null) await window.close(gate, lease);
    throw error;
  }
  const taken = await takenOver(lease);
  if (taken !== null) throw taken;
  await window.close(gate, lease);
  return result;
}

/**
 * The mismatch when another holder is there. A lease that merely lapsed still has its own gates to close. Where the store does
 * not say, one that is still trusted is taken to be nobody else's; any other may be, and what the store said is returned.
 */
async function takenOver(lease: Lease): Promise<unknown> {
  try {
    await lease.ask();
    return null;
  } catch (error) {
    if (isLoss(error)) return error.code === "E_FENCING_MISMATCH" ? error : null;
    // mutant: window-unknown: .state === "lost" ? error : null → .state === "released" ? error : null
    return lease.state === "lost" ? error : null;
  }
}
