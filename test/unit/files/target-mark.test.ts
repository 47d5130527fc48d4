import { mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { assertNotOvertaken, markPlace, raiseMark } from "../../../src/files/target-mark.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-mark-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const holder = (fencingToken: number) => ({ store: "s", tree: "path", fencingToken });

describe("the mark beside a target", () => {
  it("is damaged, and not absent, when it is a link to nothing", async () => {
    const target = join(dir, "out");
    await raiseMark(target, holder(2));
    const folder = join(dir, ".holdfast-fence");
    const mark = join(folder, readdirSync(folder).find((name) => name.endsWith(".json")) ?? "");
    renameSync(mark, join(dir, "elsewhere"));
    symlinkSync(join(dir, "nothing"), mark);
    expect(() => assertNotOvertaken(target, holder(1))).toThrow(/is a link to a file that is not there/);
    await expect(raiseMark(target, holder(1))).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    rmSync(mark);
    renameSync(join(dir, "elsewhere"), mark);
    await expect(raiseMark(target, holder(1))).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    expect(await markPlace(target)).toMatch(/^[0-9a-f-]{36}$/);
  });
});
