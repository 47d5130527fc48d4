/** Many processes on one board, by the names of the design this comes from. Full counts are in test/soak/board/concurrency.soak.test.ts. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openDocuments } from "../../../src/features/documents/documents.js";
import { crowd, expectSoundBoard, newPlace, type Place, startWorker } from "../../fixtures/board/board.fixture.js";

const LONG = 300_000;

describe("many processes", () => {
  let place: Place;
  beforeEach(async () => {
    place = await newPlace();
  });
  afterEach(() => place.close());

  const add = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) ids.push((await place.board.add({ title: `issue ${at}` })).id);
    return ids;
  };

  it("BOARD-2 concurrent issue creates: 10 processes, 5 issues each, no corruption, no duplicates", {
    timeout: LONG,
  }, async () => {
    const told = await crowd(
      place.root,
      Array.from({ length: 10 }, () => ({ do: "create", count: 5 })),
    );
    expect(new Set(told.map(({ id }) => id)).size).toBe(50);
    const issues = await expectSoundBoard(place.board);
    expect(issues).toHaveLength(50);
    expect(new Set(issues.map(({ title }) => title)).size).toBe(50);
  });

  it("BOARD-2 concurrent updates: to different issues all succeed, to the same issue they are serialised", {
    timeout: LONG,
  }, async () => {
    const ids = await add(4);
    const jobs = Array.from({ length: 5 }, () => ({ do: "label", ids, rounds: 4 }));
    const told = await crowd(place.root, jobs);
    expect(told).toHaveLength(5 * 4 * 4);
    const issues = await expectSoundBoard(place.board);
    for (const issue of issues) expect(issue).toMatchObject({ revision: 21, labels: { length: 20 } });
  });

  it("BOARD-2 concurrent reads and writes: readers see old or new, dependencies are added while others list", {
    timeout: LONG,
  }, async () => {
    const ids = await add(12);
    const until = join(place.root, "stop");
    const readers = [0, 1].map((at) => startWorker(place.root, `agent:reader${at}`, { do: "read", until }));
    await vi.waitUntil(() => readers.every((reader) => reader.told().length > 0), LONG);
    const writers = crowd(place.root, [
      { do: "label", ids, rounds: 5 },
      { do: "link", id: ids[0], on: ids[1], rounds: 30 },
    ]);
    await writers;
    writeFileSync(until, "");
    for (const reader of readers) expect((await reader.ended()).at(-1)?.reads).toBeGreaterThan(0);
    await expectSoundBoard(place.board);
  });

  // kills: board-cycle
  it("BOARD-3 two processes that add the two halves of a cycle at once: never both", { timeout: LONG }, async () => {
    const [one = "", other = ""] = await add(2);
    const told = await crowd(place.root, [
      { do: "link", id: one, on: other, rounds: 40 },
      { do: "link", id: other, on: one, rounds: 40 },
    ]);
    expect(new Set(told.map(({ answer }) => answer)).has("added")).toBe(true);
    await expectSoundBoard(place.board);
    const events = await place.board.events();
    const standing = new Set<string>();
    for (const { event, id } of events) {
      if (event === "dependency_added") standing.add(id ?? "");
      if (event === "dependency_removed") standing.delete(id ?? "");
      expect(standing.size, "both halves at once").toBeLessThan(2);
    }
  });

  it("BOARD-5 N processes that ask for the next issue at once get N different ones", { timeout: LONG }, async () => {
    await add(8);
    const told = await crowd(
      place.root,
      Array.from({ length: 10 }, () => ({ do: "claimNext" })),
    );
    const got = told.map(({ id }) => id).filter((id) => id !== null);
    expect(got).toHaveLength(8);
    expect(new Set(got).size).toBe(8);
    await expectSoundBoard(place.board);
  });

  // kills: documents-guard
  it("BOARD-2 a counter, four processes: no increment is lost", { timeout: LONG }, async () => {
    const told = await crowd(
      place.root,
      Array.from({ length: 4 }, () => ({ do: "count", id: "counter", times: 100 })),
    );
    expect(told.map(({ n }) => Number(n)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 400 }, (_, at) => at + 1),
    );
    expect(await openDocuments(place.dir).get("counter")).toMatchObject({ revision: 400, value: { n: 400 } });
  });
});
