/** Readers that keep coming from several processes, and a writer among them. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Holdfast } from "../../../dist/index.js";
import type { Client, LoopOptions, RemoteLease, Section } from "../../fixtures/client/client-process.fixture.js";
import { PATIENTLY, Scene, STORES } from "../../fixtures/client/processes.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

const KEY = "shared";
const WRITER = "agent:writer";

/** Two loops in each process, so that at any moment somebody reads, until the file `stop` is there. */
async function readAllTheTime(
  readers: readonly Client[],
  stop: string,
  options: Partial<LoopOptions>,
): Promise<Section[]> {
  const loops = readers.flatMap((reader, at) =>
    ["x", "y"].map((half) =>
      reader.loop(KEY, {
        mode: "read",
        holdMs: 50,
        stop,
        wait: "1m",
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
    if (waiters.some((waiter) => waiter.owner === WRITER)) return monotonicMs();
    await sleep(1);
  }
  return Number.POSITIVE_INFINITY;
}

async function untilReading(holdfast: Holdfast, count: number): Promise<void> {
  const reading = async () => (await holdfast.inspect(KEY)).grants.filter((grant) => grant.mode === "read").length;
  while ((await reading()) < count) await sleep(5);
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Asks for the write while others read all the time. Nobody ever reads beside it, and they go on behind it. True when it
 * was not overtaken, which can only be asked of a writer that was not kept from keeping its place.
 */
async function writeAmong(
  scene: Scene,
  readers: readonly Client[],
  options: Partial<LoopOptions>,
  ask: () => Promise<unknown>,
  release: () => Promise<void>,
): Promise<boolean> {
  const holdfast = await scene.open();
  const name = `stop-${monotonicMs()}`;
  const reading = readAllTheTime(readers, scene.file(name), options);
  await untilReading(holdfast, 3);

  const asking = ask();
  const inLineAt = await untilInLine(holdfast, asking);
  await asking;
  const grantedAt = monotonicMs();
  await sleep(200);
  const releasedAt = monotonicMs();
  await release();

  await untilReading(holdfast, 1);
  scene.touch(name);
  const sections = await reading;
  expect(sections.filter(({ from, to }) => from < releasedAt && to > grantedAt)).toEqual([]);
  expect(sections.some(({ from }) => from > releasedAt)).toBe(true);
  const overtakers = sections.filter(({ asked, from }) => asked > inLineAt && from < grantedAt);
  return inLineAt < grantedAt && overtakers.length === 0;
}

describe.each(STORES)("readers and a writer (%s)", PATIENTLY, (kind) => {
  // kills: line
  it("LOCK-12: a writer is not overtaken by readers that come after it, and they go on behind it", async () => {
    await using scene = new Scene(kind);
    const readers = await scene.startMany(3);
    const writer = await scene.start({ owner: WRITER });
    let lease: RemoteLease | undefined;
    const ask = async () => {
      lease = await writer.acquire(KEY, { wait: "1m" });
    };
    await comesOff(() => writeAmong(scene, readers, {}, ask, async () => lease?.release()));
  });

  // kills: upgrade-holds-back (hold something else)
  it.each([
    ["readers", {}],
    ["readers that hold something else", { side: "aside" }],
  ])("LOCK-9: an upgrade is not overtaken by %s", async (_, options) => {
    await using scene = new Scene(kind);
    const readers = await scene.startMany(3);
    const writer = await scene.start({ owner: WRITER });
    await comesOff(async () => {
      const lease = await writer.acquire(KEY, { mode: "upgradeable", wait: "1m" });
      const ask = async () => expect(await lease.upgrade({ wait: 60_000 })).toBeGreaterThan(lease.fencingToken);
      return writeAmong(scene, readers, options, ask, () => lease.release());
    });
  });
});
