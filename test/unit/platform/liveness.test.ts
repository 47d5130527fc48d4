import { describe, expect, it } from "vitest";
import { lifeBehind } from "../../../src/platform/liveness/liveness.js";
import type { ProofState } from "../../../src/platform/liveness/proof-of-life.js";
import { pidNamespace, startTimeOf } from "../../../src/platform/machine.js";

const HERE = { bootId: "this boot", machineId: "this machine" };
const ORIGINS = {
  "this boot": HERE,
  "this boot, in a container with a machine id of its own": { ...HERE, machineId: "a container" },
  "an unknown boot of this machine": { ...HERE, bootId: "" },
  "another boot of this machine": { ...HERE, bootId: "another boot" },
  "another machine": { bootId: "another boot", machineId: "another machine" },
  "an unknown boot of another machine": { bootId: "", machineId: "another machine" },
} as const;
type From = keyof typeof ORIGINS;

const file = { nonce: "n", proof: { kind: "file", file: "1:2:3", inherited: false } } as const;
const lifeOfFile = (from: From, state: ProofState, here = HERE) => lifeBehind(file, ORIGINS[from], here, () => state);

/** Higher than any pid the system gives out. */
const FREE_PID = 4_194_304;

describe("the life of a holder with a proof file", () => {
  it.each(Object.keys(ORIGINS) as From[])("is alive while its kernel lock is held, from %s", (from) => {
    expect(lifeOfFile(from, "alive")).toBe("alive");
    expect(lifeOfFile(from, "alive", { ...HERE, bootId: "" })).toBe("alive");
  });

  // kills: lock-of-another-kernel
  it.each([
    ["this boot", "dead", "unknown"],
    ["this boot, in a container with a machine id of its own", "dead", "unknown"],
    ["an unknown boot of this machine", "dead", "unknown"],
    ["another boot of this machine", "dead", "dead"],
    ["another machine", "unknown", "unknown"],
    ["an unknown boot of another machine", "unknown", "unknown"],
  ] as const)("from %s is %s once its lock can be had, and %s once its file is gone", (from, free, gone) => {
    expect(lifeOfFile(from, "dead")).toBe(free);
    expect(lifeOfFile(from, "gone")).toBe(gone);
  });

  it.each(Object.keys(ORIGINS) as From[])("is unknown where the file may not be looked at, from %s", (from) => {
    expect(lifeOfFile(from, "unknown")).toBe("unknown");
  });

  it("is not from before a restart where the own boot is unknown", () => {
    expect(lifeOfFile("another boot of this machine", "gone", { ...HERE, bootId: "" })).toBe("unknown");
  });
});

describe("the life of a holder that is bound to a pid", () => {
  const bound = (change: object = {}) => ({
    nonce: "n",
    proof: {
      kind: "pid" as const,
      pid: process.pid,
      startTime: startTimeOf(process.pid) ?? "",
      pidNamespace: pidNamespace(),
      bootId: HERE.bootId,
      ...change,
    },
  });
  const life = (change: object, seenAt: { bootId: string; machineId: string } = HERE, here = HERE) =>
    lifeBehind(bound(change), seenAt, here, () => "gone");

  it.each([
    ["alive, while the process is there", {}, "alive"],
    ["dead, once the pid is gone", { pid: FREE_PID }, "dead"],
    ["dead, once another process has the pid", { startTime: "1" }, "dead"],
    ["unknown, where the pid is of another namespace", { pid: FREE_PID, pidNamespace: "pid:[1]" }, "unknown"],
    ["unknown, while the pid is there and its start time was not told", { startTime: "" }, "unknown"],
  ] as const)("is %s", (_, change, expected) => {
    expect(life(change)).toBe(expected);
  });

  // kills: pid-of-another-boot
  it("is unknown where its boot, or the own one, is unknown, and on another machine", () => {
    expect(life({ pid: FREE_PID, bootId: "" })).toBe("unknown");
    expect(life({ pid: FREE_PID }, HERE, { ...HERE, bootId: "" })).toBe("unknown");
    expect(life({ pid: FREE_PID, bootId: "another boot" }, ORIGINS["another machine"])).toBe("unknown");
    expect(life({ pid: FREE_PID, bootId: "another boot" }, { ...HERE, machineId: "" })).toBe("unknown");
  });

  it("is dead when its boot is another one of this machine, whoever renewed its lease since", () => {
    expect(life({ bootId: "another boot" })).toBe("dead");
    expect(life({}, ORIGINS["an unknown boot of this machine"])).toBe("alive");
  });

  it("is unknown without any proof", () => {
    expect(lifeBehind({ nonce: "n", proof: { kind: "none" } }, HERE, HERE, () => "dead")).toBe("unknown");
  });
});
