/** The context of a lease: the instance that it comes from, and the leases that it is held together with. */

import type { Duration } from "../../base/duration.js";
import type { SharedTimer } from "../../base/shared-timer.js";
import type { Grant } from "../../lock/grant.js";
import type { Clock } from "../../platform/clock.js";
import type { Party, Presented, Store } from "../../store/contract.js";
import type { Kernel } from "../kernel.js";
import type { AcquireOptions } from "../options.js";
import type { Heart } from "../renewing/renewer.js";
import type { Files } from "../workspace/open-store.js";
import type { Holdings } from "./held-leases.js";
import type { Lease } from "./lease.js";

/** What a lease needs of the workplace that gave it. */
export interface LeaseHome {
  readonly store: Store;
  readonly party: Party;
  readonly clock: Clock;
  readonly heart: Heart;
  /** When the trust in leases runs out. */
  readonly endings: SharedTimer;
  /** When those in line look again. */
  readonly looks: SharedTimer;
  /** Aborts when the workplace closes: nothing waits any longer. */
  readonly closing: AbortSignal;
  readonly holdings: Holdings;
  /** How long to wait unless a request says otherwise. */
  readonly wait: Duration | undefined;
  /** The environment of this process, read at each use. */
  readonly env: NodeJS.ProcessEnv;
  /** What features see of all this. */
  readonly kernel: Kernel;
  acquire(keys: string | readonly string[], options: AcquireOptions, family: LeaseFamily): Promise<Lease>;
  /** Acquires these keys without the keys of the files that they stand for. */
  acquireAlone(keys: string | readonly string[], options: AcquireOptions): Promise<Lease>;
  /** The files that its keys may name. */
  readonly files: Files;
  newToken(): { readonly token: string; readonly hash: string };
}

/** What shows something held: a lease in hand, or one that was handed down. */
export interface Presenter {
  readonly presented: readonly Presented[];
}

/** What one client holds together; each of its requests presents it all. */
export type LeaseFamily = Set<Presenter>;

export interface LeaseFacts {
  readonly grants: readonly Grant[];
  readonly token: string;
  /** Just before the request was sent. */
  readonly since: number;
  /** As long as was asked for; what was granted at first may be shorter. */
  readonly leaseMs: number;
  readonly family: LeaseFamily;
  /** What was presented for this lease beside its family: shown with it as long as it is held, and no longer. */
  readonly within: readonly Presenter[];
  readonly detached: boolean;
}

export function presentedBy(presenters: Iterable<Presenter>): Presented[] {
  return [...presenters].flatMap(({ presented }) => presented);
}
