import { describe, expect, it } from "vitest";
import { CautiousCalendar } from "../../../src/features/jobs/cautious-calendar.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const NOON = Date.UTC(2026, 0, 1, 12);

describe("JOB-7: the calendar by which old jobs are taken away", () => {
  it("goes with the clock", () => {
    const calendar = new CautiousCalendar();
    for (let at = 0; at < 3 * DAY; at += MINUTE) expect(calendar.look(NOON + at, NOON, at)).toBe(NOON + at);
  });

  it("is not misled by one that is ahead for less than an hour, and believes one that stays so", () => {
    const calendar = new CautiousCalendar();
    calendar.look(NOON, NOON, 0);
    for (let at = MINUTE; at < 59 * MINUTE; at += MINUTE)
      expect(calendar.look(NOON + DAY + at, NOON + DAY, at)).toBe(NOON + at);
    expect(calendar.look(NOON + 59 * MINUTE, NOON, 59 * MINUTE)).toBe(NOON + 59 * MINUTE);
    for (let at = 60 * MINUTE; at < 119 * MINUTE; at += MINUTE) calendar.look(NOON + DAY + at, NOON, at);
    expect(calendar.look(NOON + DAY + 119 * MINUTE, NOON, 119 * MINUTE)).toBe(NOON + DAY + 119 * MINUTE);
  });

  it("follows one that is set back at once", () => {
    const calendar = new CautiousCalendar();
    calendar.look(NOON, NOON, 0);
    expect(calendar.look(NOON - DAY, NOON, MINUTE)).toBe(NOON - DAY);
  });

  it("believes the first look, and one after a long sleep, as far as jobs have ended", () => {
    const calendar = new CautiousCalendar();
    expect(calendar.look(NOON + DAY, NOON, 0)).toBe(NOON);
    expect(calendar.look(NOON + DAY + MINUTE, NOON, MINUTE)).toBe(NOON + MINUTE);
    expect(calendar.look(NOON + 3 * DAY, NOON + 2 * DAY, DAY)).toBe(NOON + 2 * DAY);
    expect(new CautiousCalendar().look(NOON, null, 0)).toBe(NOON);
    expect(new CautiousCalendar().look(NOON, NOON + DAY, 0)).toBe(NOON);
  });
});
