import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openHoldfast } from "../../../../src/index.js";
import { AuditFile } from "../../../../src/store/file/audit/audit-file.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-records-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

describe("reading a chain of files", () => {
  it("AUDIT-4: backwards page by page, nothing is read more than twice", async () => {
    const holdfast = await openHoldfast({ store: `file:${dir}`, owner: "agent:a", heart: "loop" });
    for (let time = 0; time < 1_000; time += 1) await (await holdfast.acquire("tree")).release();
    const { lines } = AuditFile;
    let read = 0;
    vi.spyOn(AuditFile, "lines").mockImplementation(function* (path, from, to) {
      for (const line of lines(path, from, to)) {
        read += 1;
        yield line;
      }
    });
    expect(await holdfast.audit.recent({ owner: "agent:nobody" })).toEqual([]);
    expect(read).toBeLessThanOrEqual(2 * 2_000);
    const [first, second] = await holdfast.audit.recent({ limit: 2_000 });
    expect([first?.seq, second?.seq]).toEqual([1, 2]);
    await (await holdfast.acquire("tree")).release();
    const last = await holdfast.audit.recent({ limit: 3 });
    expect(last.map(({ seq }) => seq)).toEqual([2_000, 2_001, 2_002]);
    await holdfast.close();
  });
});
