/** Disks that fill up and fail while something is published: a slice; all of it is in test/soak/publish/io-errors.soak.test.ts. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { publish } from "../../../src/publish.js";
import { type FaultKind, faults } from "../../fixtures/fault-injection.fixture.mjs";
import { COURSES, operationsOf, prepare } from "../../fixtures/publish/crash-sweep.fixture.js";
import { failEverywhere } from "../../fixtures/publish/io-errors.fixture.js";
import {
  debrisAt,
  expectSettled,
  KEY,
  removeScene,
  treeOf,
  versionAt,
} from "../../fixtures/publish/publish.fixture.js";
import { useWatchedFolder } from "../../fixtures/publish/watched-folder.fixture.js";

const watched = useWatchedFolder();

const STRIDES = { sqlite: 2, file: 9, postgres: 29 } as const;

describe("PUB-3: an error of the disk is told with its code, nothing is half visible, and trying again works", () => {
  it.each(COURSES)("$name", async (course) => {
    await failEverywhere(watched.base, course, { every: STRIDES[course.kind], allErrnos: false });
  });
});

describe.each(COURSES.filter(({ kind }) => kind === "sqlite"))("$name", (course) => {
  /** The numbers of the operations that look like this. */
  async function numbersOf(call: RegExp): Promise<number[]> {
    return (await operationsOf(watched.base, course)).flatMap((each, index) => (call.test(each) ? [index + 1] : []));
  }

  /** A client comes and publishes, and one operation of it fails. */
  async function attempt(at: number, what: FaultKind) {
    const scene = await prepare(watched.base, course);
    faults.arm({ at, what, changesOnly: true });
    const client = await scene.open();
    let hasFilled = false;
    const error: unknown = await publish(await client.acquire(KEY), scene.target, async (stage) => {
      hasFilled = true;
      await treeOf("new")(stage);
    }).catch((reason: unknown) => reason);
    faults.disarm();
    await client.close();
    return { scene, error, hasFilled };
  }

  // kills: publish-roll-forward, publish-uncertain
  it.each([-1, -2])("PUB-3: a parent that cannot be synced after the rename leaves it uncertain (%i)", async (n) => {
    const at = (await numbersOf(/^fsyncSync place/)).at(n) ?? 0;
    const { scene, error } = await attempt(at, "EIO");
    expect(error).toMatchObject({ code: "E_COMMIT_UNCERTAIN", retryable: false });
    expect(await expectSettled(scene, ["new"])).toBe("new");
    removeScene(scene);
  });

  it("PUB-3: a commit of the database that fails after the rename is uncertain, and settled", async () => {
    const renamed = (await numbersOf(/^(swapSync|renameSync) place\/tmp/)).at(-1) ?? 0;
    const at = (await numbersOf(/^COMMIT/)).find((each) => each > renamed) ?? 0;
    const { scene, error } = await attempt(at, "ENOSPC");
    expect(error).toMatchObject({ code: "E_COMMIT_UNCERTAIN" });
    expect(await expectSettled(scene, ["new"])).toBe("new");
    removeScene(scene);
  });

  // kills: publish-second-sync
  it("PUB-3: a file whose sync failed is not synced again, also when it was changed by hand since", async () => {
    const scene = await prepare(watched.base, course);
    const client = await scene.open();
    const lease = await client.acquire(KEY);
    const error: unknown = await publish(lease, scene.target, async (stage) => {
      faults.arm({ at: 3, what: "EIO", changesOnly: true }); // Made, written, synced.
      await stage.write("page", "new");
      appendFileSync(join(stage.path, "page"), ", and more");
    }).catch((reason: unknown) => reason);
    const { seen } = faults.disarm();
    expect(error).toMatchObject({ code: "E_IO", details: { errno: "EIO" } });
    expect(seen[2]).toMatch(/^fsync .*page$/);
    expect(seen.filter((call) => /^fsync .*page$/.test(call))).toHaveLength(1);
    await client.close();
    removeScene(scene);
  });

  // kills: publish-commit-told
  it.each([1, 2])(
    "PUB-3: a record that cannot be synced: before the rename it is undone, after it uncertain (%i)",
    async (n) => {
      const at = (await numbersOf(/^fdatasync(Sync)? store/))[n - 1] ?? 0;
      const { scene, error } = await attempt(at, "EIO");
      expect(error).toMatchObject({ code: n === 1 ? "E_IO" : "E_COMMIT_UNCERTAIN" });
      expect(versionAt(scene.target)).toBe(n === 2 ? "new" : course.replaces ? "old" : null);
      await expectSettled(scene, [n === 2 ? "new" : course.replaces ? "old" : null]);
      removeScene(scene);
    },
  );

  // A later publish knows the device of its target.
  if (!course.isProven)
    it("PUB-1: a stage on another device is found out before anything is written", async () => {
      const at = (await numbersOf(/^renameSync place\/\.holdfast-/)).at(-1) ?? 0;
      const { scene, error, hasFilled } = await attempt(at, "EXDEV");
      expect(error).toMatchObject({ code: "E_CROSS_DEVICE" });
      expect(hasFilled).toBe(false);
      expect(debrisAt(scene.target)).toEqual([]);
      expect(versionAt(scene.target)).toBe(course.replaces ? "old" : null);
      removeScene(scene);
    });

  if (course.replaces)
    it("PUB-1: a file system that cannot exchange folders gets two renames, and a crash between is put back", async () => {
      const at = (await numbersOf(/^swapSync/)).at(-1) ?? 0;
      const { scene, error } = await attempt(at, "EINVAL");
      expect(error).toMatchObject({ replaced: true });
      expect(await expectSettled(scene, ["new"])).toBe("new");
      removeScene(scene);
    });
});
