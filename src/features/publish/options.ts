/** The options of a publish, its progress messages and its result. */
import type { OptionNames } from "../../base/check-options.js";
import type { Duration } from "../../base/duration.js";
import type { ManifestRecord } from "../../lock/manifest.js";

export interface PublishProgress {
  readonly phase: "staging" | "sealing" | "committing" | "cleaning";
  /** Files and bytes so far: written with `stage.write`, then hashed and synced. */
  readonly files: number;
  readonly bytes: number;
}

export interface PublishOptions {
  /** Of a lease with several keys, the one to publish under. Default: the first. */
  readonly key?: string;
  readonly onProgress?: (progress: PublishProgress) => void;
  /** How long to wait for the lock, and its lease, when `publish` takes it. */
  readonly wait?: Duration;
  readonly ttl?: Duration;
  readonly signal?: AbortSignal;
  /** A workspace whose store is kept elsewhere: neither it nor a folder around it is replaced. */
  readonly workspace?: string;
  /** @internal What made it. */
  readonly op?: string;
  /** @internal Holds the target from the commit on instead, and tries for it so long; what is staged is kept when it is not free. */
  readonly holdAtCommit?: Duration;
  /** @internal Looks once more after everything is staged; throws to publish nothing. */
  readonly beforeCommit?: () => Promise<void>;
  /** @internal The same, under the guard: quick and synchronous. */
  readonly underGuard?: () => void;
}

export const PUBLISH: OptionNames<PublishOptions> = {
  key: true,
  wait: true,
  ttl: true,
  signal: true,
  workspace: true,
  onProgress: true,
  op: false,
  holdAtCommit: false,
  beforeCommit: false,
  underGuard: false,
};

export interface PublishResult {
  readonly manifest: ManifestRecord;
  /** There was something before. */
  readonly replaced: boolean;
}

export type Tell = (change: Partial<PublishProgress>) => void;

/** Tells of progress; a listener that throws is its own business. */
export function reporter(onProgress: ((progress: PublishProgress) => void) | undefined): Tell {
  let last: PublishProgress = { phase: "staging", files: 0, bytes: 0 };
  return (change) => {
    if (onProgress === undefined) return;
    last = { ...last, ...change };
    onProgress(last);
  };
}
