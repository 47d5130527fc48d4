/** What keeps memory as it is on a big tree: the ways that are taken only when there is much of something. */
import { createHash } from "node:crypto";
import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLinkTable } from "../../../src/features/worktree/capture/link-table.js";
import type { Seen } from "../../../src/features/worktree/capture/walk.js";
import { createIndexRuns } from "../../../src/features/worktree/objects/index-runs.js";
import { loadIndexParts } from "../../../src/features/worktree/objects/load-index.js";
import { createMarks } from "../../../src/features/worktree/objects/marks.js";
import { createObjectIndex } from "../../../src/features/worktree/objects/object-index.js";
import { bunchesOf, createStepWriter, readSteps, type Step } from "../../../src/features/worktree/restore/steps.js";
import { openScene, outlineOf } from "../../fixtures/worktree/worktree.fixture.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-big-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sum = (text: string): Buffer => createHash("sha256").update(text).digest();

/** An index of so many objects, made of runs of so many. */
function writeIndex(objects: number, most: number): void {
  const runs = createIndexRuns(join(folder, "pack-0"), most);
  const sums = Array.from({ length: objects }, (_, at) => sum(`object ${at}`));
  const early = sums.filter((sha256, at) => {
    const isThere = runs.has(sha256);
    runs.note(sha256, at * 10, at);
    return isThere;
  });
  expect([early, sums.every((sha256) => runs.has(sha256)), runs.has(sum("never stored"))]).toEqual([[], true, false]);
  runs.finish(join(folder, "pack-0.idx"));
}

describe("TREE-7: the index of a pack", () => {
  // kills: tree-index-runs
  it.each([
    [0, 16],
    [15, 16],
    [16, 16],
    [1_000, 16],
    [1_000, 4_096],
  ])("of %i objects in runs of %i has all of them, and the runs are gone", (objects, most) => {
    writeIndex(objects, most);
    expect(readdirSync(folder)).toEqual(["pack-0.idx"]);
    for (const mostInMemory of [0, 1 << 20]) {
      const parts = loadIndexParts([folder], undefined, mostInMemory);
      using index = createObjectIndex(parts);
      expect(parts.map(({ count, records }) => [count, records === null])).toEqual([
        [objects, mostInMemory === 0 && objects > 0],
      ]);
      const found = Array.from({ length: objects }, (_, at) => index.find(sum(`object ${at}`)));
      expect(found.every((place, at) => place?.offset === at * 10 && place.length === at)).toBe(true);
      const missing = Array.from({ length: 200 }, (_, at) => index.find(sum(`missing ${at}`)));
      expect(missing.every((place) => place === null)).toBe(true);
      const listed = [...index.list(0)].map(({ sha256 }) => sha256);
      expect(listed).toEqual(Array.from({ length: objects }, (_, at) => sum(`object ${at}`).toString("hex")).sort());
    }
  });

  it("of a million would mark each object apart", () => {
    writeIndex(100, 16);
    const parts = loadIndexParts([folder]);
    const marks = createMarks(parts);
    expect(marks.hasAny(0)).toBe(false);
    marks.set({ part: 0, record: 13 });
    const marked = Array.from({ length: 100 }, (_, record) => record).filter((record) =>
      marks.has({ part: 0, record }),
    );
    expect([marked, marks.hasAny(0), marks.hasAny(-1)]).toEqual([[13], true, false]);
  });
});

it("TREE-7: every hard link is told where its file was met first, however many there are", () => {
  const links = createLinkTable(join(folder, "links.new"));
  const seen = (path: string, ino: number, { nlink = 2, dev = 1 } = {}): Seen =>
    ({ path, stats: { ino: BigInt(ino), nlink: BigInt(nlink), dev: BigInt(dev) } }) as unknown as Seen;
  expect(links.firstOf(seen("alone", 1, { nlink: 1 }))).toBeNull();
  expect(readdirSync(folder)).toEqual([]);
  const inodes = Array.from({ length: 5_000 }, (_, ino) => ino);
  expect(inodes.filter((ino) => links.firstOf(seen(`first/ü-${ino}`, ino)) !== null)).toEqual([]);
  expect(inodes.filter((ino) => links.firstOf(seen(`then/${ino}`, ino)) !== `first/ü-${ino}`)).toEqual([]);
  expect(links.firstOf(seen("elsewhere", 7, { dev: 2 }))).toBeNull();
  links.finish();
  links.abandon();
  expect(readdirSync(folder)).toEqual([]);
});

describe("TREE-8: the steps of a restore in place", () => {
  const steps: Step[] = Array.from({ length: 50 }, (_, at) => [
    { op: "folder", path: `d/${at}`, mode: 0o755, mtime_us: at } as const,
    { op: "put", path: `p/${at}`, n: at, was: null } as const,
    { op: "rmdir", path: `r/${at}` } as const,
    { op: "away", path: `a/${at}`, n: at, was: "as it was" } as const,
  ]).flat();
  const pathsOf = (op: Step["op"]): string[] => steps.filter((step) => step.op === op).map(({ path }) => path);
  const inOrder = [
    ...pathsOf("away"),
    ...pathsOf("rmdir").reverse(),
    ...pathsOf("put"),
    ...pathsOf("folder").reverse(),
  ];

  it.each([8, 50, 4_096])("come phase by phase, also when %i in memory are too many", (most) => {
    const path = join(folder, "steps");
    const writer = createStepWriter(path, most);
    for (const step of steps) writer.add(step);
    const { steps: count, steps_hash: hash } = writer.finish();
    expect([count, readdirSync(folder)]).toEqual([200, ["steps"]]);
    expect([...(readSteps(path, hash, 0) ?? [])].map((step) => step.path)).toEqual(inOrder);
    expect([...(readSteps(path, hash, 120) ?? [])].map((step) => step.path)).toEqual(inOrder.slice(120));
    expect(
      readSteps(
        path,
        hash.replace(/./, (digit) => (digit === "0" ? "1" : "0")),
        0,
      ),
    ).toBeNull();
  });

  it("go in bunches that never mix phases", () => {
    const bunches = [
      ...bunchesOf(
        steps.toSorted((a, b) => (a.op < b.op ? -1 : a.op > b.op ? 1 : 0)),
        20,
      ),
    ];
    expect(bunches.map((bunch) => [bunch.steps[0]?.op, bunch.steps.length, bunch.endsPhase])).toEqual(
      ["away", "folder", "put", "rmdir"].flatMap((op) => [
        [op, 20, false],
        [op, 20, false],
        [op, 10, true],
      ]),
    );
  });
});

// kills: tree-replaced-links
it("TREE-8: hard links come back in place when the file they lead to does", { timeout: 300_000 }, async () => {
  const scene = await openScene();
  try {
    scene.write({ "a/file": "one", "b/other": "untouched" });
    for (const name of ["z1", "z2"]) linkSync(join(scene.payload, "a/file"), join(scene.payload, name));
    mkdirSync(join(scene.payload, "c"));
    linkSync(join(scene.payload, "b/other"), join(scene.payload, "c/link"));
    const before = outlineOf(scene.payload);
    const { snapshot_id: id } = await scene.worktrees.take("main");
    rmSync(join(scene.payload, "a/file"));
    rmSync(join(scene.payload, "z2"));
    scene.write({ "a/file": "two", "b/other": "written over, and still of two names" });
    await scene.worktrees.restore.inPlace(id, "main");
    expect(outlineOf(scene.payload)).toEqual(before);
  } finally {
    await scene.close();
  }
});
