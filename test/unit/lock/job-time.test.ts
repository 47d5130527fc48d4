import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { BY_CALENDAR, endedBy, epochTimeOf, HAS_ENDED } from "../../../src/lock/job-time.js";
import { moment } from "../../fixtures/lock/samples.fixture.js";

const { DatabaseSync } = createRequire(import.meta.url)("@photostructure/sqlite") as {
  DatabaseSync: new (path: string) => { prepare(sql: string): { get(...values: unknown[]): { ended: number } } };
};
const database = new DatabaseSync(":memory:");

const [WALL, BOOT] = [1_800_000_000_000, 5_000];
const here = epochTimeOf(moment(0, { wallMs: WALL, bootMs: BOOT, bootId: "this boot" }));
const unknown = epochTimeOf(moment(0, { wallMs: WALL, bootMs: BOOT, bootId: "" }));

function hasEnded(epoch: string, untilMs: number, now = here, agoMs = 0): boolean {
  const row = `SELECT ? AS epoch, ? AS until_ms`;
  const sql = `SELECT (${HAS_ENDED.replaceAll("?1", ":one").replaceAll("?2", ":two").replaceAll("?3", ":three")}) AS ended
    FROM (${row.replace("?", ":epoch").replace("?", ":until")})`;
  const [one, two, three] = endedBy(now, agoMs);
  return database.prepare(sql).get({ one, two, three, epoch, until: untilMs }).ended === 1;
}

describe("what a worker keeps, seen from a known boot", () => {
  it("ends by the clock of that boot", () => {
    expect([hasEnded("this boot", BOOT), hasEnded("this boot", BOOT - 1)]).toEqual([false, true]);
    expect(hasEnded("this boot", BOOT - 1, here, 10)).toBe(false);
  });

  it("has ended when it is of another boot", () => {
    expect(hasEnded("another boot", BOOT + 99_999)).toBe(true);
  });

  it("ends by the calendar, with what clocks may differ by, when its worker did not know its boot", () => {
    expect(hasEnded(BY_CALENDAR, WALL)).toBe(false);
    expect([hasEnded(BY_CALENDAR, WALL - 2_000), hasEnded(BY_CALENDAR, WALL - 2_001)]).toEqual([false, true]);
  });
});

describe("what a worker keeps, seen from an unknown boot", () => {
  // kills: job-unknown-boot, job-other-epoch
  it("is not known to have ended when it is of a known boot", () => {
    expect(hasEnded("this boot", 0, unknown)).toBe(false);
    expect([hasEnded(BY_CALENDAR, WALL, unknown), hasEnded(BY_CALENDAR, WALL - 1, unknown)]).toEqual([false, true]);
  });
});
