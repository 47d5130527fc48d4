/** Readers that keep coming from several processes, and a writer among them. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Client, LoopOptions, Section } from "./client.js";
import { Scene, STORES } from "./scene.js";

const RUN_MS = 2_500;
/** Far less than the readers go on for. */
const SOON_MS = 1_500;

/** Two loops in each process, so that at any moment somebody reads. */
async function readAllTheTime(readers: readonly Client[], options: Partial<LoopOptions> = {}): Promise<Section[]> {
  const loops = readers.flatMap((reader, at) =>
    ["x", "y"].map((half) =>
      reader.loop("shared", {
        mode: "read",
        holdMs: 50,
        forMs: RUN_MS,
        wait: "20s",
        ...options,
        ...(options.side === undefined ? {} : { side: `${options.side}-${at}-${half}` }),
      }),
    ),
  );
  return (await Promise.all(loops)).flat().sort((a, b) => a.from - b.from);
}

/** Most readers inside at one moment. */
function mostAtOnce(sections: readonly Section[]): number {
  return Math.max(
    ...sections.map(({ from }) => sections.filter((other) => other.from <= from && other.to > from).length),
  );
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

describe.each(STORES)("readers and a writer (%s)", (kind) => {
  it("LOCK-12: a writer gets in while readers keep coming, and they go on after it", async () => {
    await using scene = new Scene(kind);
    const readers = await scene.startMany(3);
    const writer = await scene.start({ owner: "agent:writer" });
    const reading = readAllTheTime(readers);
    await sleep(700);

    const askedAt = monotonicMs();
    const lease = await writer.acquire("shared", { wait: "10s" });
    const grantedAt = monotonicMs();
    expect(grantedAt - askedAt).toBeLessThan(SOON_MS);
    await sleep(200);
    const releasedAt = monotonicMs();
    await lease.release();

    const sections = await reading;
    expect(mostAtOnce(sections)).toBeGreaterThan(2);
    expect(sections.filter(({ from, to }) => from < releasedAt && to > grantedAt)).toEqual([]);
    expect(sections.filter(({ from }) => from > releasedAt).length).toBeGreaterThan(8);
  });

  it.each([
    ["readers", {}],
    ["readers that hold something else", { side: "aside" }],
  ])("LOCK-9: an upgrade gets in while %s keep coming", async (_, options) => {
    await using scene = new Scene(kind);
    const readers = await scene.startMany(3);
    const writer = await scene.start({ owner: "agent:writer" });
    const lease = await writer.acquire("shared", { mode: "upgradeable" });
    const reading = readAllTheTime(readers, options);
    await sleep(700);

    const askedAt = monotonicMs();
    const token = await lease.upgrade({ wait: 5_000 });
    const grantedAt = monotonicMs();
    expect(grantedAt - askedAt).toBeLessThan(SOON_MS);
    expect(token).toBeGreaterThan(lease.fencingToken);
    await sleep(200);
    const releasedAt = monotonicMs();
    await lease.release();

    const sections = await reading;
    expect(mostAtOnce(sections)).toBeGreaterThan(2);
    expect(sections.filter(({ from, to }) => from < releasedAt && to > grantedAt)).toEqual([]);
  });
});
