import { expect, test } from "vitest";
import { barsOf, ticksOf, type Window } from "../../../src/apps/dash/page/timeline/bars.js";
import type { HoldEnd, HoldSpan } from "../../../src/apps/dash/views.js";

const NOW = Date.parse("2026-01-01T12:00:00.000Z");
const WINDOW: Window = { sinceMs: NOW - 600_000, nowMs: NOW, widthPx: 600 };

test("DASH-1 holds are bars from when they began to when they ended", () => {
  const { bars, lanes } = barsOf([hold("b", 300, null), hold("a", 900, 300), hold("old", 2_000, 1_900)], WINDOW);
  expect(bars.map(({ id, left, width, lane }) => [id.split(" ")[0], left, width, lane])).toEqual([
    ["a", 0, 0.5, 0],
    ["b", 0.5, 0.5, 0],
  ]);
  expect(lanes).toBe(1);
});

test("holds at the same time lie in lanes, not on one another", () => {
  const { bars, lanes } = barsOf([hold("a", 500, 100), hold("b", 400, 200), hold("c", 150, 0)], WINDOW);
  expect(bars.map(({ lane }) => lane)).toEqual([0, 1, 1]);
  expect(lanes).toBe(2);
});

test("holds too short to be told apart are one bar, which shows the end that matters most", () => {
  const many = Array.from({ length: 50 }, (_, at) => hold(`s${at}`, 100 - at * 0.01, 100 - at * 0.01 - 0.005));
  const { bars } = barsOf([...many, hold("x", 99.4, 99.39, "broken")], WINDOW);
  expect(bars.length).toBeLessThanOrEqual(2);
  expect(bars.flatMap(({ spans }) => spans)).toHaveLength(51);
  expect(bars.at(-1)?.ended).toBe("broken");
});

test("which holds are drawn as one does not change while the window moves on", () => {
  const many = Array.from({ length: 40 }, (_, at) => hold(`s${at}`, 300 - at * 3, 300 - at * 3 - 0.2));
  const groups = (shiftMs: number) =>
    barsOf(many, { ...WINDOW, sinceMs: WINDOW.sinceMs + shiftMs, nowMs: NOW + shiftMs }).bars.map(({ id }) => id);
  expect(groups(1_234)).toEqual(groups(0));
});

test("a bar never leaves the window, however short or new it is", () => {
  for (const { left, width } of barsOf([hold("n", 0, null), hold("s", 600, 599.99)], WINDOW).bars) {
    expect(width).toBeGreaterThan(0);
    expect(left + width).toBeLessThanOrEqual(1);
  }
});

test("lines are drawn at whole minutes, not too close together", () => {
  expect(ticksOf(WINDOW).map(({ left }) => left)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(ticksOf({ ...WINDOW, widthPx: 100 })).toHaveLength(2);
});

/** In seconds before now. */
function hold(id: string, from: number, to: number | null, ended: HoldEnd = to === null ? null : "released"): HoldSpan {
  return {
    lock_id: id,
    owner: "agent:a",
    mode: "write",
    fencing_token: 1,
    from: new Date(NOW - from * 1_000).toISOString(),
    to: to === null ? null : new Date(NOW - to * 1_000).toISOString(),
    ended,
  };
}
