import { uptime } from "node:os";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readClockShift } from "../../../src/platform/boot.js";
import { createProcessClock, createSystemClock } from "../../../src/platform/clock.js";
import { thisMachine } from "../../../src/platform/machine.js";

vi.mock("node:os", async (original) => {
  const os = await original<typeof import("node:os")>();
  return { ...os, uptime: vi.fn(os.uptime) };
});

vi.mock("../../../src/platform/boot.js", async (original) => {
  const boot = await original<typeof import("../../../src/platform/boot.js")>();
  return { ...boot, readClockShift: vi.fn(boot.readClockShift) };
});
vi.mock("../../../src/platform/machine.js", async (original) => {
  const machine = await original<typeof import("../../../src/platform/machine.js")>();
  return { ...machine, thisMachine: vi.fn(machine.thisMachine) };
});

const platform = Object.getOwnPropertyDescriptor(process, "platform") ?? {};
afterEach(() => {
  vi.restoreAllMocks();
  for (const mocked of [uptime, readClockShift, thisMachine]) vi.mocked(mocked).mockReset();
  Object.defineProperty(process, "platform", platform);
});

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("the clock", () => {
  it("STALE-8: reads the time since boot, the wall clock, and which machine and boot this is", () => {
    const clock = createSystemClock();
    const [wall, sinceBoot] = [Date.now(), uptime()];
    const reading = clock();
    expect(reading.wallMs).toBeGreaterThan(wall - 1_000);
    expect(reading.wallMs).toBeLessThan(Date.now() + 1_000);
    expect(reading.bootMs).toBeGreaterThan(sinceBoot * 1_000 - 1_000);
    expect(reading.bootMs).toBeLessThan(uptime() * 1_000 + 1_000);
    expect(reading).toMatchObject(thisMachine());
  });

  it("STALE-8: never goes back, and moves as time does", async () => {
    const clock = createSystemClock();
    const startedAt = clock();
    let last = startedAt.bootMs;
    for (let times = 0; times < 10_000; times += 1) {
      const { bootMs } = clock();
      expect(bootMs).toBeGreaterThanOrEqual(last);
      last = bootMs;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(clock().bootMs - startedAt.bootMs).toBeGreaterThanOrEqual(49);
  });

  it.each([-3_600_000, -1_000, 1_000, 86_400_000])(
    "STALE-8: a jump of the wall clock by %i ms does not move it",
    (jump) => {
      const clock = createSystemClock();
      const startedAt = performance.now();
      const before = clock();
      const wall = Date.now();
      vi.spyOn(Date, "now").mockImplementation(() => wall + jump);
      const after = clock();
      expect(after.bootMs).toBeGreaterThanOrEqual(before.bootMs);
      expect(after.bootMs - before.bootMs).toBeLessThan(performance.now() - startedAt + 500);
      expect(after.wallMs).toBe(wall + jump);
    },
  );

  // kills: interrupted-clock
  it("STALE-8: being interrupted while it compares the clocks does not move it", () => {
    const asleepMs = 600_000;
    const startedAt = performance.now();
    const { bootMs: before } = createSystemClock()();
    const pauses = [300, 200, 0];
    vi.mocked(uptime).mockImplementation(() => {
      const sinceBoot = before + asleepMs + performance.now() - startedAt;
      sleepSync(pauses.shift() ?? 0);
      return sinceBoot / 1_000;
    });
    const { bootMs } = createSystemClock()();
    expect(pauses).toEqual([]);
    expect(bootMs - before).toBeGreaterThan(asleepMs + 490);
  });

  // kills: clock-back
  it("STALE-8: on a machine that has slept, how coarsely the system tells its uptime does not turn it back", () => {
    const [start, sinceBoot] = [performance.now(), uptime() + 600];
    let coarseMs = 0;
    vi.mocked(uptime).mockImplementation(() => sinceBoot + (performance.now() - start - coarseMs) / 1_000);
    const clock = createSystemClock();
    const { wallMs, bootMs } = clock();
    coarseMs = 9;
    vi.spyOn(Date, "now").mockImplementation(() => wallMs + 1_000);
    expect(clock().bootMs).toBeGreaterThanOrEqual(bootMs);
  });

  // kills: clock-shift
  it("is the kernel's in a time namespace, however that shifts what it reads", () => {
    const { bootMs: before } = createSystemClock()();
    const startedAt = performance.now();
    vi.mocked(readClockShift).mockReturnValue({ monotonicMs: 5_000, boottimeMs: 86_400_000 });
    const real = process.hrtime.bigint;
    vi.spyOn(process.hrtime, "bigint").mockImplementation(() => real() + 5_000_000_000n);
    const os = uptime();
    vi.mocked(uptime).mockImplementation(() => os + 86_400 + (performance.now() - startedAt) / 1_000);
    const { bootMs } = createSystemClock()();
    expect(bootMs - before).toBeGreaterThanOrEqual(0);
    expect(bootMs - before).toBeLessThan(performance.now() - startedAt + 50);
  });

  // kills: clock-grain
  it("does not depend on the uptime where the monotonic clock counts sleep, and where the system denies it", () => {
    Object.defineProperty(process, "platform", { ...platform, value: "darwin" });
    vi.mocked(uptime).mockImplementation(() => {
      throw new Error("denied");
    });
    const [one, other] = [createSystemClock(), createSystemClock()].map((clock) => clock().bootMs);
    expect(Math.abs(Number(one) - Number(other))).toBeLessThan(10);
  });

  // kills: process-clock
  it("is one inside a process also where the boot is unknown", () => {
    expect(createProcessClock()().bootId).toBe(thisMachine().bootId);
    vi.mocked(thisMachine).mockReturnValue({ ...thisMachine(), bootId: "" });
    expect(createProcessClock()().bootId).not.toBe("");
    expect(createSystemClock()().bootId).toBe("");
  });

  it("STALE-8: time spent suspended counts", () => {
    const clock = createSystemClock();
    const startedAt = performance.now();
    const before = clock();
    const [wall, sinceBoot, asleepMs] = [Date.now(), uptime(), 600_000];
    vi.spyOn(Date, "now").mockImplementation(() => wall + asleepMs);
    vi.mocked(uptime).mockImplementation(() => sinceBoot + asleepMs / 1_000);
    const passed = clock().bootMs - before.bootMs;
    expect(passed).toBeGreaterThan(asleepMs - 500);
    expect(passed).toBeLessThan(asleepMs + performance.now() - startedAt + 500);
  });
});
