/** The full counts, and processes killed anywhere. HOLDFAST_SOAK=sample takes a slice. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDocuments } from "../../../src/features/documents/documents.js";
import { crowd, expectSoundBoard, newPlace, type Place } from "../../fixtures/board/board.fixture.js";
import { harass } from "../../fixtures/board/killed-workers.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const times = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);

describe("many more processes", () => {
  let place: Place;
  beforeEach(async () => {
    place = await newPlace();
  });
  afterEach(() => place.close());

  it.skipIf(IS_SAMPLE)("BOARD-2 stress: 100 concurrent issue creates (needs the whole soak)", async () => {
    const told = await crowd(place.root, times(20, { do: "create", count: 5, atOnce: 5 }));
    expect(new Set(told.map(({ id }) => id)).size).toBe(100);
    expect(await expectSoundBoard(place.board)).toHaveLength(100);
  });

  it.skipIf(IS_SAMPLE)("BOARD-2 stress: 50 updaters, 10 issues each (needs the whole soak)", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 10; at += 1) ids.push((await place.board.add({ title: `issue ${at}` })).id);
    await crowd(place.root, times(50, { do: "label", ids, rounds: 1 }));
    for (const issue of await expectSoundBoard(place.board)) expect(issue.labels).toHaveLength(50);
  });

  it.skipIf(IS_SAMPLE)(
    "BOARD-2 a counter, four processes, 1,000 increments each, ends at 4,000 (needs the whole soak)",
    async () => {
      await crowd(place.root, times(4, { do: "count", id: "counter", times: 1_000 }));
      expect(await openDocuments(place.dir).get("counter")).toMatchObject({ value: { n: 4_000 } });
    },
  );

  const [processes, pauseMs] = IS_SAMPLE ? [12, 60] : [50, 40];
  it(`BOARD-2 ${processes} processes on a disk that takes ${pauseMs} ms for a sync all get their turn${sample("12 of 50 processes")}`, async () => {
    const { id } = await place.board.add({ title: "wanted" });
    await crowd(place.root, times(processes, { do: "label", ids: [id], rounds: 8, pauseMs }));
    expect((await place.board.get(id)).labels).toHaveLength(8 * processes);
  });

  it(`BOARD-2 SIGKILL anywhere: no corruption, no cycle, every acknowledged save is there${sample("4 of 120 seconds")}`, async () => {
    await harass(place, { workers: 6, forMs: IS_SAMPLE ? 4_000 : 120_000 });
  });
});
