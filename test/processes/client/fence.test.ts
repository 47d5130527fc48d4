/** Fencing tokens across processes: they only grow, whoever opens, closes, crashes or is killed. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Section } from "../../fixtures/client/client-process.fixture.js";
import { Scene, SIDE_BY_SIDE, STORES } from "../../fixtures/client/processes.fixture.js";

const PROCESSES = 6;
/** Together more than are reserved at once, so that reserving is part of it. */
const TIMES = 200;

function tokensOf(sections: readonly Section[]): number[] {
  return sections.map((section) => section.fencingToken);
}

function isGrowing(tokens: readonly number[]): boolean {
  return tokens.every((token, at) => token > (tokens[at - 1] ?? 0));
}

describe.each(STORES)("fences (%s)", SIDE_BY_SIDE, (kind) => {
  // kills: guard, write-transaction, fence-reservation-sqlite, fence-reservation-file
  it("FENCE-1: processes that mint at once in one tree get numbers of their own, each seeing them grow", async () => {
    await using scene = new Scene(kind);
    const clients = await scene.startMany(PROCESSES);
    const runs = await Promise.all(
      clients.map((client, at) => client.loop(`tree/branch-${at % 3}/leaf-${at}`, { holdMs: 0, times: TIMES })),
    );
    for (const run of runs) expect(tokensOf(run)).toSatisfy(isGrowing);
    const tokens = runs.flatMap(tokensOf);
    expect(new Set(tokens).size).toBe(PROCESSES * TIMES);
    // Across processes too: whoever asked when another had it already gets a higher one.
    const inTime = runs.flat();
    for (const section of inTime) {
      const before = inTime.filter((other) => other.from < section.asked).map((other) => other.fencingToken);
      expect(section.fencingToken).toBeGreaterThan(Math.max(0, ...before));
    }
  });

  it("FENCE-1: the numbers go on growing when the store is closed, opened again, killed and crashed", async () => {
    await using scene = new Scene(kind);
    const tokens: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const client = await scene.start();
      tokens.push(...tokensOf(await client.loop("tree/work", { holdMs: 0, times: 5 })));
      if (round % 3 === 0) {
        await client.exit();
        continue;
      }
      // Killed while it holds, or in the middle of minting.
      if (round % 3 === 1) tokens.push((await client.acquire("tree/work")).fencingToken);
      else client.loop("tree/work", { holdMs: 0 }).catch(() => undefined);
      await sleep(30);
      await client.kill();
    }
    expect(tokens).toSatisfy(isGrowing);
    const holdfast = await scene.open();
    const status = await holdfast.inspect("tree/work");
    expect(status.fencing_token).toBeGreaterThanOrEqual(tokens.at(-1) ?? Number.NaN);
    const lease = await holdfast.acquire("tree");
    expect(lease.fencingToken).toBeGreaterThan(status.fencing_token);
  });
});
