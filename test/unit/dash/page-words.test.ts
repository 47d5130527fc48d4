import { expect, test } from "vitest";
import { progressOf } from "../../../src/apps/dash/page/jobs/job-words.js";
import { keepRows } from "../../../src/apps/dash/page/parts/kept-rows.js";
import { ago, clockTime, countdown, leaseLeft, span } from "../../../src/apps/dash/page/time.js";
import { folderName, longPlace, shortPlace, someOf, whyOf } from "../../../src/apps/dash/page/words.js";
import { size } from "../../../src/base/count-text.js";

test("DASH-1 spans of time in words", () => {
  expect([0, 45.4, 119, 121, 3600 * 2, 7500, 90_000].map(span)).toEqual([
    "0 s",
    "45 s",
    "119 s",
    "2 min",
    "2 h",
    "2 h 5 min",
    "1 d 1 h",
  ]);
  expect([0.2, 59, 60, 872, 3600, 7500].map(countdown)).toEqual([
    "1 s",
    "59 s",
    "1 min",
    "14 min 32 s",
    "1 h",
    "2 h 5 min",
  ]);
  expect([0.4, 12.9].map(ago)).toEqual(["just now", "12 s ago"]);
});

test("DASH-1 a lease counts down to nothing and not below", () => {
  const end = "2026-01-01T00:01:00.000Z";
  const left = (at: string) => leaseLeft(end, 60, Date.parse(at));
  expect(left("2026-01-01T00:00:15.000Z")).toEqual({ isOver: false, text: "45 s", share: 0.75 });
  expect(left("2026-01-01T00:01:00.000Z")).toEqual({ isOver: true, text: "expired just now", share: 0 });
  expect(left("2026-01-01T00:01:12.000Z")).toMatchObject({ isOver: true, text: "expired 12 s ago" });
  // A clock that was set back must not make the bar longer than it is.
  expect(left("2025-12-31T23:00:00.000Z").share).toBe(1);
});

test("a time has its date only when it is not today's", () => {
  const at = new Date(2026, 0, 2, 7, 8, 9);
  expect(clockTime(at.toISOString(), at.getTime() + 1)).toBe("07:08:09");
  expect(clockTime(at.toISOString(), at.getTime() + 48 * 3600_000)).toBe("2026-01-02 07:08:09");
});

test("names and numbers in words", () => {
  expect(shortPlace("build-1.example.net:kim:42:17")).toBe("build-1:42");
  expect(shortPlace("10.0.0.7:kim:42:17")).toBe("10.0.0.7:42");
  expect(shortPlace("fe80::1:kim:42:17")).toBe("fe80::1:42");
  expect(longPlace("host:kim:42:17")).toBe("host, as kim, pid 42");
  expect([999, 48_123_456].map(size)).toEqual(["999 B", "48.1 MB"]);
  expect(folderName("/home/kim/alpha/")).toBe("alpha");
  expect(someOf(["a", "b", "a", "c", "d", "e"])).toBe("a, b, c and 2 more");
  const recovered = { reason: "lease_expired", previous: { owner: "agent:a" } };
  expect(whyOf("recovered", recovered)).toBe("lease expired, from agent:a");
  expect(whyOf("granted", { previous: null })).toBe("");
  expect(whyOf("refused", { mode: "write", owner: "agent:a", queue_length: 0 })).toBe("agent:a had it");
});

test("progress is drawn where it can be told", () => {
  expect(progressOf(0.4)).toEqual({ share: 0.4, text: "40 %" });
  expect(progressOf({ done: 3, total: 4 })).toEqual({ share: 0.75, text: "3 of 4" });
  expect(progressOf({ percent: 50 })).toEqual({ share: 0.5, text: "50 %" });
  expect(progressOf({ layer: "roads" })).toEqual({ share: null, text: '{"layer":"roads"}' });
  expect(progressOf("half way")).toEqual({ share: null, text: "half way" });
  expect(progressOf(["a"])).toEqual({ share: null, text: '["a"]' });
});

test("an open row stays where it was when it is gone from the answer", () => {
  const rowsAfter = (before: Parameters<typeof keepRows<string>>[0], rows: string[], open: string) =>
    keepRows(
      before,
      rows,
      (row) => row,
      (id) => id === open,
    );
  const first = rowsAfter([], ["a", "b", "c"], "b");
  const second = rowsAfter(first, ["a", "c", "d"], "b");
  expect(second.map(({ id, isGone }) => `${id}${isGone ? " gone" : ""}`)).toEqual(["a", "b gone", "c", "d"]);
  expect(rowsAfter(second, ["c", "d"], "b").map(({ id }) => id)).toEqual(["b", "c", "d"]);
  expect(rowsAfter(second, ["a", "c"], "").map(({ id }) => id)).toEqual(["a", "c"]);
});
