import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { userName } from "../../../src/base/user-name.js";
import { findWorkspace } from "../../../src/features/configuration.js";
import { isThere, lookUp, namesIn } from "../../../src/platform/look-up.js";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-look-up-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe("a lookup", () => {
  it("finds what is there, and nothing where there is nothing", () => {
    const folder = newFolder();
    writeFileSync(join(folder, "file"), "");
    expect([isThere(join(folder, "file")), isThere(join(folder, "none"))]).toEqual([true, false]);
    expect([lookUp(join(folder, "file", "below")), namesIn(join(folder, "file"))]).toEqual([null, []]);
    expect([namesIn(folder), namesIn(join(folder, "none"))]).toEqual([["file"], []]);
  });

  // kills: permission-is-absence
  it("is E_IO where the system cannot tell", () => {
    const folder = newFolder();
    symlinkSync("loop", join(folder, "loop"));
    const cannotTell = expect.objectContaining({
      code: "E_IO",
      details: { path: join(folder, "loop"), errno: "ELOOP" },
    });
    expect(() => isThere(join(folder, "loop"))).toThrow(cannotTell);
    expect(() => namesIn(join(folder, "loop"))).toThrow(cannotTell);
  });

  it.skipIf(process.getuid?.() !== 0)(
    "names the path and the user who may not look there, and a search for a workspace does not go on upwards (needs root)",
    () => {
      const folder = newFolder();
      for (const name of [".holdfast", "inner", "inner/.holdfast"]) mkdirSync(join(folder, name), { mode: 0o700 });
      chmodSync(folder, 0o755);
      chmodSync(join(folder, "inner"), 0o755);
      writeFileSync(join(folder, "inner", ".holdfast", "workspace.json"), "{}");
      const path = join(folder, "inner", ".holdfast");
      asNobody(() => {
        expect(() => isThere(join(path, "x"))).toThrow(
          expect.objectContaining({
            code: "E_IO",
            message: `cannot look at ${join(path, "x")}: EACCES (user ${userName()})`,
          }),
        );
        expect(() => findWorkspace({}, { cwd: join(folder, "inner"), env: {} })).toThrow(
          expect.objectContaining({
            code: "E_IO",
            details: { path: join(path, "workspace.json"), errno: "EACCES", user: userName() },
          }),
        );
      });
    },
  );
});

function asNobody(action: () => void): void {
  const uid = process.geteuid?.() ?? 0;
  process.seteuid?.(65_534);
  try {
    action();
  } finally {
    process.seteuid?.(uid);
  }
}
