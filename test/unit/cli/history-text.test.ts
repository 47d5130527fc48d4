import { describe, expect, it } from "vitest";
import type { Screen } from "../../../src/apps/cli/output/screen.js";
import { historyText } from "../../../src/apps/cli/snapshots/history-text.js";
import type { SnapshotInfo } from "../../../src/features/worktree/snapshot/descriptor.js";

const WIDTH = 80;
const screen = (isTerminal: boolean): Screen => ({
  width: WIDTH,
  isTerminal,
  json: false,
  quiet: false,
  paint: (_style, text) => text,
  tell: () => undefined,
  stream: () => undefined,
  say: () => undefined,
  write: () => undefined,
});

function info(number: number, parent: number | null, more: Partial<SnapshotInfo> = {}): SnapshotInfo {
  const id = (each: number): string => `20261115-17450112${each}-9f3a2c1b`;
  return {
    snapshot_id: id(number),
    parent_id: parent === null ? null : id(parent),
    worktree_id: "main",
    worktree_mode: "exclusive",
    kind: "snapshot",
    created_at: "2026-11-15T17:45:01.410Z",
    note: "",
    tags: [],
    consistency_level: "quiesced",
    bytes: 3_000_000,
    skipped: 0,
    ...more,
  } as SnapshotInfo;
}

const LONG = "a note that goes on and on, further than any terminal is wide, and is of no use to whoever reads a list";
const SNAPSHOTS = [
  info(1, null, { note: LONG, tags: ["release"] }),
  info(2, 1, { kind: "rescue", tags: ["rescue"], note: LONG, skipped: 1 }),
  info(3, 1, { consistency_level: "best_effort", note: `\u001b[2Jtitle\n${LONG}` }),
];
const HEADS = new Map([[SNAPSHOTS[2]?.snapshot_id ?? "", ["main"]]]);

describe("TREE-9: the history", () => {
  it("has a line for each on a terminal: marks in full, notes as far as they fit", () => {
    const lines = historyText(SNAPSHOTS, HEADS, screen(true)).split("\n");
    expect(lines.map((line) => line.length <= WIDTH)).toEqual([true, true, true]);
    expect(lines.map((line) => line.slice(0, line.indexOf("*")))).toEqual(["", "├─", ""]);
    expect(lines[0]).toMatch(/#release {2}a note that goes.*…$/);
    expect(lines[1]).toContain("rescue ! 1 skipped");
    expect(lines[2]).toContain("<- main ! best effort");
  });

  it("is whole in a file, and never has control characters", () => {
    const text = historyText(SNAPSHOTS, HEADS, screen(false));
    expect(text.split(LONG)).toHaveLength(3);
    expect(text).toContain("[2Jtitle");
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });
});
