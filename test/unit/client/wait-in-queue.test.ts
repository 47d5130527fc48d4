import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SharedTimer } from "../../../src/base/shared-timer.js";
import { Holdings } from "../../../src/client/lease/held-leases.js";
import type { LeaseHome } from "../../../src/client/lease/lease-context.js";
import { LongWait } from "../../../src/client/waiting/long-wait.js";
import { type Attempt, untilGranted } from "../../../src/client/waiting/wait-in-queue.js";
import type { Contention } from "../../../src/lock/contention.js";
import { contentionReport } from "../../../src/lock/contention.js";
import type { Answer, WakeUps } from "../../../src/store/contract.js";
import { grant, key, moment, want } from "../../fixtures/lock/samples.fixture.js";

const contention: Contention = contentionReport(key("k"), [grant("k")], [], moment(0));
const granted: Answer = { kind: "granted", grants: [grant("k")], ended: [] };
const conflict: Answer = { kind: "conflict", contention };
const queued = (ahead: number): Answer => ({ kind: "queued", ticketId: "ticket", ahead, inTheWay: contention });

let asked: number[];
let left: (Contention | null)[];
let wake: () => void;
let mayHaveMissed = true;
let isListening: boolean;

const wakeUps: WakeUps = {
  listen(_nonce, _ticketId, onWake) {
    wake = onWake;
    isListening = true;
    return {
      mayHaveMissed,
      [Symbol.dispose]() {
        isListening = false;
      },
    };
  },
};

function start(answer: (time: number, waitMs: number) => Answer, change: Partial<Attempt> = {}) {
  const startedAt = Date.now();
  const attempt: Attempt = {
    wants: [want("k")],
    waitMs: 5_000,
    closing: new AbortController().signal,
    signal: undefined,
    looks: new SharedTimer({ keepsAlive: true }),
    ask: async ({ waitMs }) => {
      asked.push(Date.now() - startedAt);
      return answer(Date.now() - startedAt, waitMs);
    },
    look: () => null,
    leave: async (_ticketId, report) => void left.push(report),
    ...change,
  };
  const outcome = untilGranted(attempt, { wakeUps }, "nonce").then(
    (value) => value,
    (error: unknown) => error,
  );
  return { outcome, startedAt };
}

beforeEach(() => {
  vi.useFakeTimers();
  [asked, left, isListening, mayHaveMissed] = [[], [], false, true];
});
afterEach(() => vi.useRealTimers());

describe("waiting", () => {
  // kills: circle-looks-of-many
  it("a waiter among others of its instance asks only when a poll is due", async () => {
    const holdings = new Holdings(() => undefined);
    for (const other of [1, 2]) holdings.begin(Promise.resolve(other));
    const { outcome } = start((_, waitMs) => (waitMs > 0 ? queued(20) : conflict), {
      lasting: (ticketId) => new LongWait({ holdings } as LeaseHome, { wants: [want("k")], waitMs: 5_000 }, ticketId),
    });
    await vi.advanceTimersByTimeAsync(2_400);
    expect(asked).toHaveLength(6);
    await vi.advanceTimersByTimeAsync(5_000);
    await outcome;
  });

  it("LOCK-12: asks once when it is free or when it does not want to wait", async () => {
    expect(await start(() => granted).outcome).toMatchObject({ waitedMs: 0 });
    expect(await start(() => conflict).outcome).toMatchObject({
      code: "E_LOCK_CONFLICT",
      details: { contention },
    });
    expect([asked.length, left, isListening]).toEqual([2, [], false]);
  });

  it("LOCK-12: asks again at once when woken, and not in between more than a slow poll", async () => {
    let isFree = false;
    const { outcome } = start(() => (isFree ? granted : queued(20)));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(asked.length).toBeLessThanOrEqual(7);
    isFree = true;
    const before = asked.length;
    wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(asked.length).toBe(before + 1);
    expect(await outcome).toHaveProperty("grants");
    expect([left, isListening]).toEqual([[], false]);
  });

  it("LOCK-12: a wake-up that comes while it asks is not lost", async () => {
    let times = 0;
    const { outcome } = start(() => {
      times += 1;
      if (times === 2) wake();
      return times < 3 ? queued(20) : granted;
    });
    await vi.advanceTimersByTimeAsync(1);
    expect(times).toBe(3);
    await outcome;
  });

  it("LOCK-12: the first in line looks often enough to notice a death, also when no wake-up comes", async () => {
    const { outcome } = start((time) => (time >= 1_000 ? granted : queued(0)));
    await vi.advanceTimersByTimeAsync(1_100);
    expect(await outcome).toHaveProperty("grants");
    expect(asked.at(-1)).toBeLessThanOrEqual(1_100);
  });

  it("LOCK-12: ends with E_LOCK_TIMEOUT when its time is up, and its refusal goes on record", async () => {
    const { outcome, startedAt } = start((_, waitMs) => (waitMs > 0 ? queued(0) : conflict));
    await vi.advanceTimersByTimeAsync(6_000);
    expect(await outcome).toMatchObject({ code: "E_LOCK_TIMEOUT", details: { contention, waited_ms: 5_000 } });
    expect(asked.at(-1)).toBeGreaterThanOrEqual(4_990);
    expect(Date.now() - startedAt).toBeLessThan(6_001);
    expect([left, isListening]).toEqual([[contention], false]);
  });

  it("LOCK-12: a signal ends it at once with its reason, leaves the line, and nothing goes on record", async () => {
    const stop = new AbortController();
    const { outcome } = start(() => queued(3), { signal: stop.signal });
    await vi.advanceTimersByTimeAsync(10);
    stop.abort(new Error("enough"));
    await vi.advanceTimersByTimeAsync(0);
    expect(await outcome).toEqual(new Error("enough"));
    expect([left, isListening]).toEqual([[null], false]);
  });

  // kills: stop-while-asking
  it("LOCK-12: a signal that aborts while it asks ends it as soon as there is an answer", async () => {
    const stop = new AbortController();
    mayHaveMissed = false;
    const { outcome } = start(
      () => {
        stop.abort("enough");
        return queued(20);
      },
      { signal: stop.signal },
    );
    const ended = vi.fn();
    outcome.then(ended);
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toHaveBeenCalledWith("enough");
    expect([asked.length, left]).toEqual([1, [null]]);
  });

  it("LOCK-12: a workplace that closes ends it at once", async () => {
    const closing = new AbortController();
    const looks = new SharedTimer({ keepsAlive: true });
    const { outcome } = start(() => queued(20), { closing: closing.signal, looks });
    await vi.advanceTimersByTimeAsync(10);
    closing.abort("closed");
    looks.ringNow();
    await vi.advanceTimersByTimeAsync(0);
    expect(await outcome).toBe("closed");
    expect([left, isListening]).toEqual([[null], false]);
  });

  // kills: signal-kept
  it("LOCK-12: one listens to a signal for all that wait with it, and no longer than they do", async () => {
    const { signal } = new AbortController();
    let isFree = false;
    const all = Array.from({ length: 3 }, () => start(() => (isFree ? granted : queued(0)), { signal }));
    await vi.advanceTimersByTimeAsync(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    isFree = true;
    await vi.advanceTimersByTimeAsync(1_000);
    for (const { outcome } of all) expect(await outcome).toHaveProperty("grants");
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("LOCK-12: a signal that had aborted before asks for nothing", async () => {
    expect(await start(() => granted, { signal: AbortSignal.abort("no") }).outcome).toBe("no");
    expect(asked).toEqual([]);
  });

  it("LOCK-12: a store that fails on the way leaves no place in line behind", async () => {
    let times = 0;
    const { outcome } = start(() => {
      times += 1;
      if (times > 2) throw new Error("the store is gone");
      return queued(0);
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await outcome).toEqual(new Error("the store is gone"));
    expect([left, isListening]).toEqual([[null], false]);
  });
});
