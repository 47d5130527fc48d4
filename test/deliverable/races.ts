/** Agents that race for one folder, round after round. */
import { expect } from "vitest";
import type { DeliverableRecord } from "../../src/deliverable/record.js";
import { Agent, deliverable, isLocked, newFolder, readLock, readLog } from "./scene.js";

async function crew(folder: string, size: number): Promise<Agent[]> {
  return Promise.all(Array.from({ length: size }, (_, at) => Agent.start(folder, `agent:a${at}`)));
}

/** Everybody tries at once: one wins, the others are told that it is locked. */
export async function raceToLock(rounds: number): Promise<void> {
  const folder = newFolder();
  const agents = await crew(folder, 10);
  let last = 0;
  for (let round = 0; round < rounds; round += 1) {
    const told = await Promise.all(agents.map((agent) => agent.call("lock")));
    const winners = agents.filter((_, at) => told[at]?.ok);
    expect(winners).toHaveLength(1);
    expect(new Set(told.flatMap(({ code }) => code ?? []))).toEqual(new Set(["E_LOCK_CONFLICT"]));
    const record = told.find(({ ok }) => ok)?.result as { record: DeliverableRecord };
    expect(readLock(folder).lock_id).toBe(record.record.lock_id);
    expect(record.record.fencing_token).toBeGreaterThan(last);
    last = record.record.fencing_token;
    expect((await winners[0]?.call("unlock"))?.code ?? null).toBeNull();
    expect(isLocked(folder)).toBe(false);
  }
  expect(readLog(folder).filter(({ action }) => action === "locked")).toHaveLength(rounds);
}

/** A lock whose lease is over, without waiting for it: as if it had been taken two hours ago. */
async function leaveExpired(folder: string): Promise<void> {
  const { createSystemClock } = await import("../../src/support/clock.js");
  const system = createSystemClock();
  const ago = () => {
    const now = system();
    return { ...now, wallMs: now.wallMs - 7_200_000, bootMs: now.bootMs - 7_200_000 };
  };
  await deliverable(folder, { holder: "agent:gone" }, ago).lock({ detached: true });
}

/** Everybody finds the same stale lock at once: one ends it, and there is one line about it. */
export async function raceToRecover(call: "recover" | "lock", size: number, rounds: number): Promise<void> {
  const folder = newFolder();
  const agents = await crew(folder, size);
  for (let round = 1; round <= rounds; round += 1) {
    await leaveExpired(folder);
    const told = await Promise.all(agents.map((agent) => agent.call(call)));
    const winners = told.filter(({ ok, result }) => ok && result !== null);
    expect(winners).toHaveLength(1);
    if (call === "lock") {
      const at = told.findIndex(({ ok }) => ok);
      expect(told.filter(({ code }) => code === "E_LOCK_CONFLICT")).toHaveLength(size - 1);
      await agents[at]?.call("unlock");
    } else expect(told.every(({ ok }) => ok)).toBe(true);
    expect(readLog(folder).filter(({ action }) => action === "recovered")).toHaveLength(round);
  }
}
