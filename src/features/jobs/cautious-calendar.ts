/**
 * Returns the current wall-clock time for the removal of jobs by their age. A wall clock may be wrong for a while, and jobs
 * that were removed in that time do not come back. So this one trusts the wall clock an hour late: of all its readings of
 * the last hour, each advanced by the time since boot, which cannot be set, the earliest counts. The first reading has no
 * others beside it, and is trusted only as far as the store confirms it: up to the last end of a job on record.
 *
 * It is late rather than early: old jobs are kept an hour longer after a start, or after a clock that was behind was
 * corrected. Not noticed: a worker that starts while the wall clock is ahead, after other jobs have ended by it.
 */
const BELIEVED_AFTER_MS = 3_600_000;

interface Look {
  readonly wallMs: number;
  readonly bootMs: number;
}

export class CautiousCalendar {
  #looks: readonly Look[] = [];

  /** `lastEndMs`: null when no job has ended, so that there is nothing to lose. */
  look(wallMs: number, lastEndMs: number | null, bootMs: number): number {
    const recent = this.#looks.filter((each) => bootMs - each.bootMs < BELIEVED_AFTER_MS);
    const believedMs = recent.length === 0 ? Math.min(wallMs, lastEndMs ?? wallMs) : wallMs;
    this.#looks = [...recent, { wallMs: believedMs, bootMs }];
    return Math.min(...this.#looks.map((each) => each.wallMs + bootMs - each.bootMs));
  }
}
