/**
 * The current day, for the removal of jobs by their age. A calendar may be set wrong for a while, and jobs that were
 * removed in that time do not come back. So this one believes the calendar an hour late: of all its looks of the last
 * hour, each moved on by the time since boot, which cannot be set, the earliest counts. At the first look there are no
 * others, and the calendar is believed as far as the store bears it out: up to the last end of a job on record.
 *
 * It is late rather than early: what is old is kept an hour longer after a start, or after a clock that was behind was put
 * right. Not noticed: a worker that starts while the calendar is ahead, after other jobs have ended by it.
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
