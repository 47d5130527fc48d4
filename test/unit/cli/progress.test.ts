import { expect, it } from "vitest";
import { progressText } from "../../../src/apps/cli/snapshots/worktrees.js";

const HALF = { files: 12_345, bytes: 50_000_000, expectedBytes: 100_000_000 };

it("a line of progress says what fits: it never wraps", () => {
  const at = (room: number): string => progressText("restoring", HALF, 2_000_000, room);
  expect(at(79)).toBe("restoring [##########..........] 12,345 files, 50.0 MB, 2.0 MB/s, 25 s left");
  expect(at(59)).toBe("restoring 50 % 12,345 files, 2.0 MB/s, 25 s left");
  expect(at(39)).toBe("restoring 50 % 2.0 MB/s, 25 s left");
  expect(at(20)).toBe("restoring 50 %");
  for (let room = 1; room < 100; room += 1) expect(at(room).length).toBeLessThanOrEqual(room);
});

it("without an expectation there is no share and no time left", () => {
  const text = progressText("snapshot", { files: 3, bytes: 900, expectedBytes: null }, 450, 79);
  expect(text).toBe("snapshot 3 files, 900 B, 450 B/s");
});
