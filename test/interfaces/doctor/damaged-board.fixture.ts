/** A board with something wrong. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openBoard } from "../../../src/features/board/board.js";
import type { Ward } from "./damaged-workspace.fixture.js";

/** A board with two issues; where it is. */
export async function boardOf(ward: Ward): Promise<string> {
  const dir = join(ward.root, ".holdfast/board");
  await ward.use(async (one) => {
    await using board = openBoard(one, dir);
    await board.add({ title: "a thing to do" });
    await board.add({ title: "another" });
  });
  return dir;
}

/** As if its process had died when the journal had the change and the files had not. */
export async function changeUnfinished(ward: Ward): Promise<void> {
  const dir = join(ward.root, ".holdfast/board");
  const files = ["issues/1.json", "events.jsonl", "index.json"].map((name) => join(dir, name));
  const before = files.map((path) => readFileSync(path));
  const mark = readFileSync(join(dir, ".journal/journal")).subarray(0, 512);
  await ward.use(async (one) => {
    await using board = openBoard(one, dir);
    await board.update("1", { title: "changed" });
  });
  for (const [at, path] of files.entries()) writeFileSync(path, before[at] ?? "");
  const journal = openSync(join(dir, ".journal/journal"), "r+");
  writeSync(journal, mark, 0, mark.length, 0);
  closeSync(journal);
}
