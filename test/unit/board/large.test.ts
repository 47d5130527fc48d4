import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { expectSoundBoard, newPlace } from "../../fixtures/board/board.fixture.js";

// kills: board-index-tail
it("BOARD-1 on a larger board the index lags behind the events, and a list does not", {
  timeout: 300_000,
}, async () => {
  await using place = await newPlace();
  const lines = Array.from({ length: 400 }, (_, at) => JSON.stringify({ id: `bd-${at}`, title: `Issue ${at}` }));
  await place.board.import(lines.join("\n"), "beads");
  const index = (): { seq: number; count: number } => JSON.parse(readFileSync(join(place.dir, "index.json"), "utf8"));
  expect(index()).toMatchObject({ seq: 400, count: 400 });
  for (let at = 1; at <= 10; at += 1) await place.board.update(String(at), { title: `changed ${at}` });
  const { id } = await place.board.add({ title: "new" });
  expect(index()).toMatchObject({ seq: 400 });
  expect((await place.board.list({ text: "changed" })).total).toBe(10);
  expect((await place.board.list({ limit: 1_000 })).issues.at(-1)).toMatchObject({ id, title: "new" });
  await expectSoundBoard(place.board);
  const path = join(place.dir, "index.json");
  writeFileSync(path, readFileSync(path, "utf8").replace('"seq":400', '"seq":399'));
  await place.board.update("2", { title: "after a merge" });
  expect(index(), "one that is not of this log is made anew at once").toMatchObject({ seq: 412 });
  for (let at = 1; at <= 51; at += 1) await place.board.update("1", { title: `again ${at}` });
  expect(index().seq).toBeGreaterThan(412);
  await expectSoundBoard(place.board);
});
