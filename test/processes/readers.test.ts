/** Readers that keep coming from several processes, and a writer among them. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Holdfast } from "../../dist/index.js";
import type { Client, LoopOptions, Section } from "./client.js";
import { PATIENTLY, Scene, STORES } from "./scene.js";

const RUN_MS = 1_800;
const KEY = "shared";

/** Two loops in each process, so that at any moment somebody reads. */
async function readAllTheTime(readers: readonly Client[], options: Partial<LoopOptions> = {}): Promise<Section[]> {
  const loops = readers.flatMap((reader, at) =>
    ["x", "y"].map((half) =>
      reader.loop(KEY, {
        mode: "read",
        holdMs: 50,
        forMs: RUN_MS,
        wait: "20s",
        ...options,
        ...(options.side === undefined ? {} : { side: `${options.side}-${at}-${half}` }),
      }),
    ),
  );
  return (await Promise.all(loops)).flat();
}

/** When the request was seen in line; never, if it was granted before anybody looked. */
async function untilInLine(holdfast: Holdfast, request: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  request.then(over, over);
  while (!isOver) {
    const { waiters } = await holdfast.inspect(KEY);
    if (waiters.some((waiter) => waiter.owner === "agent:writer")) return monotonicMs();
    await sleep(1);
  }
  return Number.POSITIVE_INFINITY;
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

describe.each(STORES)("readers and a writer (%s)", PATIENTLY, (kind) => {
  it("LOCK-12: a writer is not overtaken by readers that come after it, and they go on behind it", async () => {
    await using scene = new Scene(kind);
    const holdfast = await scene.open();
    const readers = await scene.startMany(3);
    const writer = await scene.start({ owner: "agent:writer" });
    const reading = readAllTheTime(readers);
    await sleep(700);

    const asking = writer.acquire(KEY, { wait: "20s" });
    const inLineAt = await untilInLine(holdfast, asking);
    const lease = await asking;
    const grantedAt = monotonicMs();
    await sleep(200);
    const releasedAt = monotonicMs();
    await lease.release();

    const sections = await reading;
    expect(mostAtOnce(sections)).toBeGreaterThan(2);
    expect(sections.filter(({ asked, from }) => asked > inLineAt && from < grantedAt)).toEqual([]);
    expect(sections.filter(({ from, to }) => from < releasedAt && to > grantedAt)).toEqual([]);
    expect(sections.some(({ from }) => from > releasedAt)).toBe(true);
  });

  it.each([
    ["readers", {}],
    ["readers that hold something else", { side: "aside" }],
  ])("LOCK-9: an upgrade is not overtaken by %s", async (_, options) => {
    await using scene = new Scene(kind);
    const holdfast = await scene.open();
    const readers = await scene.startMany(3);
    const writer = await scene.start({ owner: "agent:writer" });
    const lease = await writer.acquire(KEY, { mode: "upgradeable" });
    const reading = readAllTheTime(readers, options);
    await sleep(700);

    const asking = lease.upgrade({ wait: 20_000 });
    const inLineAt = await untilInLine(holdfast, asking);
    const token = await asking;
    const grantedAt = monotonicMs();
    expect(token).toBeGreaterThan(lease.fencingToken);
    await sleep(200);
    const releasedAt = monotonicMs();
    await lease.release();

    const sections = await reading;
    expect(mostAtOnce(sections)).toBeGreaterThan(2);
    expect(sections.filter(({ asked, from }) => asked > inLineAt && from < grantedAt)).toEqual([]);
    expect(sections.filter(({ from, to }) => from < releasedAt && to > grantedAt)).toEqual([]);
    expect(sections.some(({ from }) => from > releasedAt)).toBe(true);
  });
});
