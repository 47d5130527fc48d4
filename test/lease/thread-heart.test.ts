import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openHoldfast } from "../../src/index.js";

describe("a heart thread", () => {
  // Beside the sources there is no thread to start: each one fails, a moment after the first lease.
  it("LOCK-5: that could not start keeps nobody from closing, nor the next one from working", async () => {
    const root = mkdtempSync(join(tmpdir(), "holdfast-heart-"));
    for (let round = 0; round < 12; round += 1) {
      const holdfast = await openHoldfast({ store: `file:${root}`, owner: "agent:a" });
      const lease = await holdfast.acquire("shop");
      await new Promise((resolve) => setTimeout(resolve, 8 * round));
      await lease.verify();
      expect(await within(5_000, holdfast.close())).toBe("closed");
    }
    rmSync(root, { recursive: true });
  });
});

async function within(ms: number, closing: Promise<void>): Promise<"closed" | "hangs"> {
  const timeout = new Promise<"hangs">((resolve) => setTimeout(resolve, ms, "hangs"));
  return Promise.race([closing.then(() => "closed" as const), timeout]);
}
