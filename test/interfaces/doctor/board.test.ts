import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { boardFiles } from "../../../src/apps/doctor/checks/board-files.js";
import { openBoardReader } from "../../../src/features/board/board.js";
import { openGuard } from "../../../src/files/guard.js";
import { startWorker } from "../../fixtures/board/board.fixture.js";
import { boardOf, changeUnfinished } from "./damaged-board.fixture.js";
import { Ward } from "./damaged-workspace.fixture.js";

describe("the doctor and the board", () => {
  it("BOARD-2: what a step left in the journal is written by --repair, with its event and its place in the index", async () => {
    const ward = new Ward("sqlite");
    const dir = await boardOf(ward);
    await changeUnfinished(ward);
    expect(readFileSync(join(dir, "issues/1.json"), "utf8")).toContain("a thing to do");
    await ward.examine({ repair: true });
    expect(readFileSync(join(dir, "issues/1.json"), "utf8")).toContain("changed");
    const board = openBoardReader(dir);
    expect((await board.events()).map(({ seq, event }) => [seq, event])).toEqual([
      [1, "created"],
      [2, "created"],
      [3, "updated"],
    ]);
    expect((await board.list()).issues[0]).toMatchObject({ title: "changed", revision: 2 });
  });

  it("says nothing about the journal of another boot whose changes are all in the files", async () => {
    const ward = new Ward("sqlite");
    const journal = join(await boardOf(ward), ".journal/journal");
    const bytes = readFileSync(journal);
    bytes.write("x", bytes.indexOf('"boot":"') + '"boot":"'.length);
    writeFileSync(journal, bytes);
    expect(await ward.codes()).toEqual([]);
  });

  it.each([
    ["torn", (index: string) => writeFileSync(index, "")],
    ["gone", (index: string) => rmSync(index)],
    [
      "not of these events",
      (index: string) => writeFileSync(index, readFileSync(index, "utf8").replace(/"seq":\d+/, '"seq":1')),
    ],
    [
      "wrong in a line",
      (index: string) => writeFileSync(index, readFileSync(index, "utf8").replace("a thing", "another thing")),
    ],
  ])("finds an index that is %s, and makes it anew", async (_how, spoil) => {
    const ward = new Ward("sqlite");
    const index = join(await boardOf(ward), "index.json");
    const right = readFileSync(index, "utf8");
    spoil(index);
    expect(await ward.codes()).toEqual(["BOARD_INDEX_WRONG"]);
    expect((await ward.examine({ repair: true })).findings).toEqual([]);
    expect(readFileSync(index, "utf8")).toBe(right);
  });

  it("names a file among the issues that is none", async () => {
    const ward = new Ward("sqlite");
    writeFileSync(join(await boardOf(ward), "issues/9.json"), '{"schema_version":1,"revision":1}');
    expect(await ward.codes()).toEqual(["BOARD_UNREADABLE"]);
  });

  // kills: doctor-board-quiet
  it("takes a change for left behind only when nobody is at it", async () => {
    const ward = new Ward("sqlite");
    const dir = await boardOf(ward);
    await changeUnfinished(ward);
    const guard = openGuard(join(dir, ".journal/guard"));
    onTestFinished(() => guard.close());
    expect(guard.tryEnter()).toBe(true);
    expect(await ward.codes()).not.toContain("BOARD_UNSETTLED");
    guard.leave();
    expect(await ward.codes()).toContain("BOARD_UNSETTLED");
  });

  it("finds nothing wrong with a board while another process changes it", async () => {
    const ward = new Ward("sqlite");
    await boardOf(ward);
    const worker = startWorker(ward.root, "agent:busy", { do: "anything" });
    onTestFinished(() => worker.kill());
    await expect.poll(() => worker.told().length, { timeout: 240_000 }).toBeGreaterThan(5);
    for (let look = 0; look < 8; look += 1) expect((await ward.examine({ checks: [boardFiles] })).findings).toEqual([]);
  }, 300_000);
});
