import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openInstallation } from "../../../../src/client/open-holdfast.js";
import { openHoldfast } from "../../../../src/features/configuration.js";
import { createSystemClock } from "../../../../src/platform/clock.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-installation-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe("taking a file store away", () => {
  it.each([
    ["that cannot be read", '"mode":"?"'],
    ["of a newer version", '"schema_version":99,"mode":"write"'],
  ])("STORE-5 STALE-7: a record %s counts as held", async (_, spoiled) => {
    const holdfast = await openHoldfast({ store: `file:${dir}`, owner: "agent:a" });
    await holdfast.acquire("tree/a", { detached: true });
    await holdfast.close();
    const path = join(dir, "locks", "tree", "below", "a.json");
    writeFileSync(path, readFileSync(path, "utf8").replace('"mode":"write"', spoiled));
    const installation = await openInstallation(`file:${dir}`);
    await expect(installation.uninstall(createSystemClock())).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect([existsSync(path), existsSync(join(dir, "store.json"))]).toEqual([true, true]);
  });
});
