/** docs/board.md shows what is really written. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BOARD_EVENTS } from "../../../src/features/board/events.js";
import { newPlace } from "../../fixtures/board/board.fixture.js";
import { page } from "../../fixtures/pages.fixture.js";

it("docs/board.md has the fields of the files, and every event", async () => {
  const text = page("docs/board.md");
  const documented = (behind: string): Record<string, unknown> => {
    const [, block = ""] = /^```json\n(.*?)^```$/ms.exec(text.slice(text.indexOf(behind))) ?? [];
    return JSON.parse(block) as Record<string, unknown>;
  };
  await using place = await newPlace();
  await place.board.defineGate({ name: "tests" });
  await place.board.add({ title: "Rename layers", gates: ["tests"] });
  await place.board.claim("1");
  const stored = (name: string) => JSON.parse(readFileSync(join(place.dir, name), "utf8")) as Record<string, unknown>;
  expect(Object.keys(documented("`issues/<id>.json`:"))).toEqual(Object.keys(stored("issues/1.json")));
  const [line = ""] = readFileSync(join(place.dir, "events.jsonl"), "utf8").trimEnd().split("\n").reverse();
  const event = documented("`events.jsonl`, the line");
  expect(Object.keys(event)).toEqual(Object.keys(JSON.parse(line)));
  expect(Object.keys(event.changes as object)).toEqual(Object.keys(JSON.parse(line).changes));
  const index = documented("`index.json` is the board");
  expect(Object.keys(index)).toEqual(Object.keys(stored("index.json")));
  const first = (picture: Record<string, unknown>): object => (picture.issues as object[])[0] ?? {};
  expect(Object.keys(first(index))).toEqual(Object.keys(first(stored("index.json"))));
  for (const name of BOARD_EVENTS) expect(text).toContain(`\`${name}\``);
});
