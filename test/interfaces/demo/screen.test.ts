import { describe, expect, it } from "vitest";
import { drawVerdict } from "../../../examples/demo/report.mjs";
import { Scoreboard } from "../../../examples/demo/scoreboard.mjs";
import { draw } from "../../../examples/demo/screen.mjs";

const NAMES = ["ada", "ben", "cleo", "dora", "eli", "fay"];

function busyBoard(): Scoreboard {
  const board = new Scoreboard(NAMES, 20_000);
  board.begin();
  for (const name of NAMES) {
    board.note({ kind: "started", name, pid: 4_194_304 });
    board.note({ kind: "holding", name, file: "ledger.txt", isSlow: true });
    board.note({ kind: "acknowledged", name, file: "ledger.txt" });
    board.note({ kind: "stopped", name, holding: "ledger.txt" });
    board.note({ kind: "takeover", name: "ada", from: name, file: "ledger.txt", isDead: false, ms: 41 });
    board.note({ kind: "resumed", name, holding: "ledger.txt" });
    board.note({ kind: "refused", name, file: "ledger.txt", code: "E_LOCK_EXPIRED", wouldErase: 1_000 });
  }
  return board;
}

describe("the screen", () => {
  it.each([
    [80, 24],
    [50, 24],
    [33, 40],
    [20, 10],
    [200, 60],
  ])("fits %i columns and %i rows", (width, height) => {
    const lines = draw(busyBoard(), width, height);
    expect(lines.length).toBeLessThanOrEqual(height);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines.join("\n")).toContain("ada");
  });

  it("shows every column at 80, and what happened last", () => {
    const text = draw(busyBoard(), 80, 24).join("\n");
    expect(text).toMatch(/worker +pid state +file +updates refused takeovers last event/);
    expect(text).toMatch(/ben +4194304 refused +ledger\.txt +1 +1 +0 stale write/);
    expect(text).toContain("fay's old ledger.txt REFUSED (E_LOCK_EXPIRED): 1000 newer updates saved");
    expect(text).toContain("takeovers 6, stale writes refused 6");
  });

  it.each([80, 50, 40])("prints a verdict that fits %i columns", (width) => {
    const finding = {
      name: "stale commits refused",
      value: "12",
      note: "by the store: E_FENCING_MISMATCH ".repeat(4),
      failure: null,
    };
    const failed = { ...finding, failure: "an acknowledged update is lost" };
    const lines = drawVerdict({ isGood: false, findings: [finding, failed], sentence: "Failed: ".repeat(20) }, width);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(lines.join("\n")).toContain("✘ stale commits refused");
  });
});
