/** DASH-1: the timeline of holds, made of entries and of what is held. */
import { describe, expect, it } from "vitest";
import { spansOf } from "../../../src/apps/dash/endpoints/timeline.js";
import type { HeldRecord } from "../../../src/client/reading/lock-status.js";
import type { AuditEntry } from "../../../src/lock/audit.js";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

function entry(
  second: number,
  event: AuditEntry["event"],
  lock_id: string,
  details = {},
  owner = "agent:a",
): AuditEntry {
  return { at: at(second), event, lock_id, resource: "k", owner, fencing_token: second, details } as AuditEntry;
}

const spansSince = (since: number, entries: readonly AuditEntry[], held: readonly HeldRecord[] = []) =>
  spansOf(entries, held, at(since)).get("k") ?? [];

describe("DASH-1: holds", () => {
  it("one that began before the window and ended in it lasted from its beginning, or from before anything is known", () => {
    const known = [entry(1, "granted", "x", { mode: "read" }), entry(70, "released", "x")];
    expect(spansSince(60, known)).toMatchObject([{ from: at(1), to: at(70), mode: "read", ended: "released" }]);
    expect(spansSince(60, known.slice(1))).toMatchObject([{ from: at(60), to: at(70), ended: "released" }]);
    const stolen = entry(70, "stolen", "x", { previous: { owner: "agent:dead", mode: "read", acquired_at: at(5) } });
    expect(spansSince(60, [stolen])).toMatchObject([{ owner: "agent:dead", from: at(5), to: at(70), mode: "read" }]);
  });

  it("what was over before the window is not in it", () => {
    expect(spansSince(60, [entry(1, "granted", "x"), entry(59, "released", "x")])).toEqual([]);
    expect(spansSince(60, [entry(1, "granted", "x"), entry(60, "released", "x")])).toHaveLength(1);
  });

  it("in the mode that it had last, with the number of then", () => {
    const converted = [
      entry(61, "granted", "x", { mode: "upgradeable" }),
      entry(62, "upgraded", "x", { mode: "write" }),
      entry(64, "released", "x"),
    ];
    expect(spansSince(60, converted)).toMatchObject([{ mode: "write", fencing_token: 62, from: at(61) }]);
    expect(spansSince(60, converted.slice(1))).toMatchObject([{ mode: "write", from: at(60), to: at(64) }]);
    const lowered = [entry(61, "granted", "x", { mode: "write" }), entry(62, "downgraded", "x", { mode: "read" })];
    expect(spansSince(60, lowered)).toMatchObject([{ mode: "read", to: null }]);
  });

  it("a lapsed one that was resumed, in its mode", () => {
    const resumed = [
      entry(61, "granted", "x", { mode: "read" }),
      entry(65, "resumed", "y", { old_lock_id: "x" }),
      entry(66, "released", "y"),
    ];
    expect(spansSince(60, resumed)).toMatchObject([
      { lock_id: "x", to: at(65), ended: "lapsed", mode: "read" },
      { lock_id: "y", from: at(65), to: at(66), ended: "released", mode: "read" },
    ]);
  });

  it("many of one key in no time", () => {
    const many = Array.from({ length: 20_000 }, (_, i) => entry(61, "granted", `${i}`, { mode: "read" }));
    const start = performance.now();
    expect(spansSince(60, many)).toHaveLength(20_000);
    expect(performance.now() - start).toBeLessThan(1_500);
  });
});
