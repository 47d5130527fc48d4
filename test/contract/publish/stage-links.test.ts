/** A link that appears in the stage at the worst moment, between the look at a folder and the open of a file in it. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { publish } from "../../../src/publish.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-stage-"));
});

afterEach(() => {
  faults.listen(() => undefined);
  faults.watch(null as never);
  rmSync(dir, { recursive: true, force: true });
});

// kills: stage-link-raced
it.runIf(existsSync("/proc/self/fd"))(
  "a folder that becomes a link while a file is opened receives no content (needs /proc)",
  async () => {
    const outside = join(dir, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "kept"), "kept");
    await using holdfast = await openHoldfast({ store: `memory:${dir}`, owner: "agent:one", heart: "loop" });
    const target = join(dir, "out");
    const late = publish({ holdfast, key: "site" }, target, async (stage) => {
      const folder = join(stage.path, "folder");
      faults.watch(stage.path);
      faults.listen(({ call, path }) => {
        if (call !== "mkdirSync" || path !== folder) return;
        faults.listen(() => undefined);
        renameSync(folder, `${folder}.aside`);
        symlinkSync(outside, folder);
      });
      await stage.write("folder/kept", "x");
    });
    await expect(late).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "name" } });
    expect(readFileSync(join(outside, "kept"), "utf8")).toBe("kept");
    expect(existsSync(target)).toBe(false);
  },
);
