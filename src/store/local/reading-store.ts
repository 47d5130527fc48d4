/** Makes a store that is only read: it shows what is held, and refuses every step. */
import { HoldfastError } from "../../base/errors.js";
import type { Settings } from "../../lock/settings.js";
import type { Clock } from "../../platform/clock.js";
import type { Store } from "../contract.js";
import type { LedgerRecords, Scripting } from "../ledger.js";
import { openProofFolder } from "./liveness-and-wake-ups.js";
import { createLocalStore } from "./local-store.js";

interface ReadingFacts {
  readonly url: string;
  readonly id: string;
  readonly settings: Settings;
  readonly records: LedgerRecords;
  readonly clock: Clock;
  /** The folder of the proofs of life. */
  readonly proofs: string;
  /** Reads the tables of jobs; null where the store has none. */
  readonly look: Scripting["look"] | null;
  close(): void;
}

export function createReadingStore({ proofs, look, clock, ...facts }: ReadingFacts): Store {
  const refuse = async (): Promise<never> => {
    throw new HoldfastError("E_STORE_UNAVAILABLE", `${facts.url} was opened for reading only`, { reason: "read_only" });
  };
  const ledger = {
    ...facts,
    transact: refuse,
    sync: async () => undefined,
    held: () => null,
    adoptWorkspace: refuse,
    assertInPlace: () => undefined,
    callerRows: null,
    scripting: look === null ? null : { transact: refuse, look },
  };
  return createLocalStore(ledger, openProofFolder(proofs, facts.settings, clock(), undefined, false));
}
