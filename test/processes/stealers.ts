/** Ten processes find the same stale grant at once, round after round: one of them wins, the others meet the winner. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Client, RemoteError, RemoteLease } from "./client.js";
import { expectSoundHistory } from "./history.js";
import type { Scene } from "./scene.js";

const STEALERS = 10;
/** One holder leaves this many stale grants behind. */
const ROUNDS_PER_HOLDER = 100;

export type Staleness = "killed" | "lapsed";

/** The same ten steal from holders of each kind, so many times. */
export async function stealInRounds(scene: Scene, rounds: Readonly<Record<Staleness, number>>): Promise<void> {
  const stealers = await scene.startMany(STEALERS);
  let token = 0;
  for (const staleness of ["killed", "lapsed"] as const)
    for (let done = 0; done < rounds[staleness]; done += ROUNDS_PER_HOLDER) {
      const count = Math.min(ROUNDS_PER_HOLDER, rounds[staleness] - done);
      const keys = Array.from({ length: count }, (_, at) => `stale/${staleness}-${done + at}`);
      const stale = await leaveBehind(scene, keys, staleness);
      for (const [at, key] of keys.entries()) {
        const winner = await stealAtOnce(stealers, key);
        expect(winner.fencingToken).toBeGreaterThan(Math.max(token, stale[at]?.fencingToken ?? 0));
        token = winner.fencingToken;
        await winner.release();
      }
    }
  const stolen = await scene.entries("stolen");
  expect(new Set(stolen.map((entry) => entry.resource)).size).toBe(stolen.length);
  const because = (reason: string): number => stolen.filter(({ details }) => details.reason === reason).length;
  expect([because("process_dead"), because("lease_expired")]).toEqual([rounds.killed, rounds.lapsed]);
  expect(stolen).toHaveLength(rounds.killed + rounds.lapsed);
  await expectSoundHistory(await scene.open());
}

/** Grants of a holder that was killed, or that let its leases lapse. */
async function leaveBehind(scene: Scene, keys: readonly string[], staleness: Staleness): Promise<RemoteLease[]> {
  const holder = await scene.start({ owner: "agent:holder" });
  const options = staleness === "killed" ? {} : { ttl: "1s", detached: true };
  const held: RemoteLease[] = [];
  for (const key of keys) held.push(await holder.acquire(key, options));
  await (staleness === "killed" ? holder.kill() : holder.exit());
  if (staleness === "lapsed") await sleep(1_050);
  return held;
}

async function stealAtOnce(stealers: readonly Client[], key: string): Promise<RemoteLease> {
  const answers = await Promise.allSettled(stealers.map((stealer) => stealer.acquire(key, { wait: 0 })));
  const winners = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  const losers = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as RemoteError] : []));
  const [winner] = winners;
  if (winner === undefined || winners.length > 1) throw new Error(`${key} was won by ${winners.length}`);
  for (const error of losers)
    expect(error).toMatchObject({
      code: "E_LOCK_CONFLICT",
      details: { contention: { holder: winner.record.holder_id, holders: [{ fencing_token: winner.fencingToken }] } },
    });
  return winner;
}
