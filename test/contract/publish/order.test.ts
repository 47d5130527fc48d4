/** The steps in their order, as the system sees them: every sync is there, and before what rests on it. */
import { expect, it } from "vitest";
import { COURSES, operationsOf } from "../../fixtures/publish/crash-sweep.fixture.js";
import { useWatchedFolder } from "../../fixtures/publish/watched-folder.fixture.js";

const watched = useWatchedFolder();

// kills: publish-file-sync, publish-seal-sync, publish-commit-sync
it.each(COURSES)("PUB-1: $name: everything is synced before the rename, both parents after it", async (course) => {
  const seen = (await operationsOf(watched.base, course)).map((call) => call.replace(/tmp\/[0-9a-f-]{36}/, "STAGE"));
  const renamed = seen.findLastIndex((call) => call === "swapSync place/STAGE" || call === "renameSync place/STAGE");
  expect(renamed).toBeGreaterThan(0);
  const before = seen.slice(0, renamed);
  const staged = ["", "/version", "/by-hand", "/empty", "/sub", "/sub/deep", "/sub/deep/page"];
  for (const name of staged) expect(before.filter((call) => call === `fsync place/STAGE${name}`)).toHaveLength(1); // Synced before the rename, once.
  for (const file of ["version", "sub/deep/page"]) {
    const written = before.lastIndexOf(`writeSync place/STAGE/${file}`);
    expect(before.indexOf(`fsync place/STAGE/${file}`)).toBeGreaterThan(written);
  }
  expect(seen.slice(renamed + 1, renamed + 3)).toEqual(["fsyncSync place/tmp", "fsyncSync place"]);
  if (course.kind === "sqlite") {
    expect(seen[renamed + 3]).toBe("COMMIT ");
    const begun = seen.findIndex((call) => call.startsWith("mkdirSync place"));
    expect(seen.slice(0, begun)).toContain("COMMIT "); // The manifest is there before the stage.
    const sealed = before.lastIndexOf("fdatasyncSync store/holdfast.db-wal");
    expect(sealed).toBeGreaterThan(before.lastIndexOf("COMMIT ")); // The seal is on the disk.
    expect(seen.slice(renamed + 4)).toContain("fdatasyncSync store/holdfast.db-wal"); // And the record, before anybody is told.
  }
  if (course.kind === "postgres") {
    expect(before.filter((call) => !call.includes(".holdfast-fence")).slice(-2)).toEqual(["BEGIN ", "manifest_check "]);
    expect(seen.slice(renamed + 3, renamed + 5)).toEqual(["manifest_commit ", "COMMIT "]);
    const begun = seen.findIndex((call) => /^mkdirSync place\/\.holdfast-[0-9a-f]{8}-/.test(call));
    expect(seen.slice(0, begun)).toContain("manifest_begin ");
    expect(seen.slice(seen.indexOf("manifest_begin "), begun)).toContain("fsyncSync place/.holdfast-fence"); // The mark is raised.
  }
});
