import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HoldfastError } from "../../../src/base/errors.js";
import { retry } from "../../../src/client/retry.js";

const busy = new HoldfastError("E_LOCK_TIMEOUT", "taken", { details: { contention: { resource: "k" } } });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** How often it was tried and how long each pause was, at the upper bound of the jitter. */
async function pausesOf(options: Parameters<typeof retry>[1], jitter = 0.999_999): Promise<number[]> {
  vi.spyOn(Math, "random").mockReturnValue(jitter);
  const times: number[] = [];
  const failing = retry(async () => {
    times.push(Date.now());
    throw busy;
  }, options).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await failing).toMatchObject({ code: "E_TOO_MANY_RETRIES" });
  return times.slice(1).map((time, at) => time - (times[at] ?? 0));
}

describe("retry", () => {
  it("LOCK-15: tries three times, pausing up to 50 ms, then twice that", async () => {
    const pauses = await pausesOf({});
    expect(pauses.map((ms) => Math.round(ms / 50))).toEqual([1, 2]);
  });

  it("LOCK-15: doubles up to 2 s and no further", async () => {
    const pauses = await pausesOf({ attempts: 9 });
    expect(pauses.map((ms) => Math.round(ms / 50) * 50)).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });

  it("LOCK-15: with full jitter: anything down to no pause at all", async () => {
    expect(await pausesOf({ attempts: 4 }, 0)).toEqual([0, 0, 0].map(() => expect.closeTo(0, -0.7)));
    const half = await pausesOf({ attempts: 3 }, 0.5);
    expect(half.map((ms) => Math.round(ms / 25))).toEqual([1, 2]);
  });

  it("LOCK-15: gives up with the count and the last cause", async () => {
    const failing = retry(() => Promise.reject(busy)).catch((error: unknown) => error);
    await vi.runAllTimersAsync();
    expect(await failing).toMatchObject({
      code: "E_TOO_MANY_RETRIES",
      retryable: false,
      cause: busy,
      details: { attempts: 3, last_code: "E_LOCK_TIMEOUT", contention: { resource: "k" } },
    });
  });

  it("LOCK-15: returns the first success, telling each attempt its number", async () => {
    const seen: number[] = [];
    const done = retry(async (attempt) => {
      seen.push(attempt);
      if (attempt < 3) throw busy;
      return "done";
    });
    await vi.runAllTimersAsync();
    expect(await done).toBe("done");
    expect(seen).toEqual([1, 2, 3]);
  });

  it.each([new HoldfastError("E_LOCK_ORDER", "no"), new Error("a bug"), "not even an error"])(
    "LOCK-15: only what is marked retryable is tried again, not %s",
    async (error) => {
      let tries = 0;
      await expect(
        retry(async () => {
          tries += 1;
          throw error;
        }),
      ).rejects.toBe(error);
      expect(tries).toBe(1);
    },
  );

  it("LOCK-15: the environment sets the defaults, the caller overrides them", async () => {
    vi.stubEnv("HOLDFAST_RETRY_MAX_ATTEMPTS", "5");
    vi.stubEnv("HOLDFAST_RETRY_INITIAL_DELAY_MS", "400");
    expect((await pausesOf({})).map((ms) => Math.round(ms / 400))).toEqual([1, 2, 4, 5]);
    expect(await pausesOf({ attempts: 2 })).toHaveLength(1);
    for (const nonsense of ["0", "-1", "1.5", "many"]) {
      vi.stubEnv("HOLDFAST_RETRY_MAX_ATTEMPTS", nonsense);
      await expect(retry(async () => 1)).rejects.toMatchObject({ code: "E_CONFIG" });
    }
    vi.stubEnv("HOLDFAST_RETRY_MAX_ATTEMPTS", "");
    expect(await retry(async () => 1)).toBe(1);
  });

  it.each([
    { attempts: 0 },
    { attempts: 101 },
    { attempts: Number.POSITIVE_INFINITY },
    { attempts: 1.5 },
    { attempts: Number.NaN },
    { initialDelayMs: 0 },
    { initialDelayMs: 2_001 },
  ])("LOCK-15: unbounded is not expressible: %j", async (options) => {
    await expect(retry(async () => 1, options)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });

  it("LOCK-15: a signal ends the pause with its reason", async () => {
    const stop = new AbortController();
    const failing = retry(() => Promise.reject(busy), { signal: stop.signal, initialDelayMs: 2_000 });
    const outcome = expect(failing).rejects.toThrow("enough");
    stop.abort(new Error("enough"));
    await vi.runAllTimersAsync();
    await outcome;
  });

  it("LOCK-15: a signal that is none is refused before anything is tried", async () => {
    const operation = vi.fn(() => Promise.reject(busy));
    const signal = {} as AbortSignal;
    await expect(retry(operation, { signal })).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
      details: { field: "signal" },
    });
    expect(operation).not.toHaveBeenCalled();
  });
});
