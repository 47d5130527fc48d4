/** Killing a verb at each of its file operations, and what must be true afterwards. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { openHoldfast } from "../../src/index.js";
import { openWorktrees, type Worktrees } from "../../src/worktree/index.js";
import { inParallel } from "../crash/kill.js";
import { openScene, outlineOf, type Scene, variedTree, writeTree } from "./scene.js";

const CHILD = fileURLToPath(new URL("../fixtures/worktree-child.mjs", import.meta.url));

export type Verb = "snapshot" | "restore-new" | "restore-inplace" | "gc";

interface Ending {
  readonly killed: boolean;
  readonly ok: boolean;
  readonly code?: string | null;
  readonly seen: readonly string[];
}

export function runVerb(verb: string, root: string, at: number, when: string, what: string): Promise<Ending> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [CHILD, verb, root, String(at), when, what], (error, stdout, stderr) => {
      if (error?.signal === "SIGKILL") resolve({ killed: true, ok: false, code: null, seen: [] });
      else if (stdout === "") reject(new Error(`${verb} ended without a word: ${stderr}`));
      else resolve({ killed: false, ...(JSON.parse(stdout) as Omit<Ending, "killed">) });
    });
  });
}

/** A workspace as it is before the verb, to be copied for each case. */
export interface Stage {
  readonly scene: Scene;
  readonly verb: string;
  /** What the payload is now, and what it was in the first snapshot. */
  readonly before: readonly string[];
  readonly first: readonly string[];
  readonly snapshots: number;
  readonly calls: readonly string[];
}

export async function prepareStage(verb: Verb): Promise<Stage> {
  const scene = await openScene();
  const { payload, worktrees, root, holdfast } = scene;
  variedTree(payload);
  const first = outlineOf(payload);
  const { snapshot_id: id } = await worktrees.take("main");
  writeTree(payload, { "a.txt": "changed", "new/file": "new", "deep.d": "other" });
  rmSync(join(payload, "deep/er"), { recursive: true });
  unlinkSync(join(payload, "case"));
  mkdirSync(join(payload, "case"));
  writeTree(payload, { "case/inside": "was a file" });
  rmSync(join(payload, "empty"), { recursive: true });
  symlinkSync("nowhere", join(payload, "empty"));
  if (verb === "gc") {
    await worktrees.take("main");
    const large = Buffer.alloc(1_100_000, "o");
    writeTree(root, { "other/only-here": "gone soon", "other/a.txt": "hello", "other/large": large });
    writeTree(root, { "other/stays": "used by others soon" });
    await worktrees.trees.add("other");
    await worktrees.take("other");
    writeTree(payload, { stays: "used by others soon" });
    await worktrees.take("main");
    await worktrees.trees.remove("other", { snapshots: true });
    mkdirSync(join(root, ".holdfast/snapshots/staging/20200101-000000000-00000000"), { recursive: true });
    writeFileSync(join(root, ".holdfast/snapshots/staging/20200101-000000000-00000000/pack-0"), "left");
  }
  await holdfast.close();
  const named = verb.startsWith("restore") ? `${verb}:${id}` : verb;
  const trial = copyOf(scene.root, "trial");
  const { ok, seen } = await runVerb(named, trial, 0, "before", "none");
  expect(ok).toBe(true);
  const listed = readdirSync(join(root, ".holdfast/snapshots/taken")).length;
  const before = outlineOf(payload);
  await checkAfter(trial, verb, { before, first, snapshots: listed }, true);
  return { scene, verb: named, before, first, snapshots: listed, calls: seen };
}

let copies = 0;
export function copyOf(root: string, name: string): string {
  copies += 1;
  const copy = `${root}-${name}-${copies}`;
  execFileSync("cp", ["-a", root, copy]);
  return copy;
}

export interface Extent {
  readonly every: number;
  readonly from?: number;
}

/** Kills before and after every n-th operation. Returns how many cases there were. */
export async function killEverywhere(stage: Stage, { every, from = 0 }: Extent): Promise<number> {
  const points = stage.calls.flatMap((call, index) =>
    index % every === from % every
      ? ([
          { at: index + 1, when: "before", call },
          ...(index % (2 * every) === from % every ? [{ at: index + 1, when: "after", call } as const] : []),
        ] as const)
      : [],
  );
  await inParallel(points, 2, async ({ at, when, call }) => {
    const root = copyOf(stage.scene.root, "kill");
    try {
      const { killed } = await runVerb(stage.verb, root, at, when, "kill");
      // Removing a folder tries an rmdir first that may fail: after that one nobody is killed.
      if (!call.startsWith("rmdirSync") || when === "before") expect(killed).toBe(true);
      await checkAfter(root, stage.verb.split(":")[0] as Verb, stage, false);
    } catch (error) {
      throw new Error(`killed ${when} ${at} of ${stage.calls.length}, ${call}: ${(error as Error).message}`, {
        cause: error,
      });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
  return points.length;
}

/** An operation fails instead: the verb says so, and the same must hold. */
export async function failEverywhere(
  stage: Stage,
  errno: "ENOSPC" | "EIO",
  { every, from = 0 }: Extent,
): Promise<number> {
  const points = stage.calls
    .map((call, index) => ({ at: index + 1, call }))
    .filter((_, index) => index % every === from % every);
  await inParallel(points, 2, async ({ at, call }) => {
    const root = copyOf(stage.scene.root, "fail");
    try {
      const ending = await runVerb(stage.verb, root, at, "before", errno);
      if (!ending.ok) expect(["E_IO", "E_COMMIT_UNCERTAIN", "E_STORE_UNAVAILABLE"]).toContain(ending.code);
      await checkAfter(root, stage.verb.split(":")[0] as Verb, stage, false);
    } catch (error) {
      throw new Error(`${errno} at ${at} of ${stage.calls.length}, ${call}: ${(error as Error).message}`, {
        cause: error,
      });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
  return points.length;
}

/** The payload is the old or the new one whenever somebody is granted the lock; nothing listed is damaged; the next works. */
async function checkAfter(
  root: string,
  verb: Verb,
  { before, first, snapshots }: Pick<Stage, "before" | "first" | "snapshots">,
  isDone: boolean,
): Promise<void> {
  const holdfast = await openHoldfast({ root, owner: "agent:next", heart: "loop" });
  try {
    const worktrees = await openWorktrees(holdfast, { root, threads: 0 });
    const payload = join(root, "payload");
    const lease = await holdfast.tryAcquire("worktree:main");
    if (lease !== null) {
      expect([before, first]).toContainEqual(outlineOf(payload));
      await lease.release();
    } else expect(verb).toBe("restore-inplace");
    expect(await worktrees.verify(null)).toMatchObject({ ok: true, findings: [] });
    await worktrees.check({ repair: true });
    expect(await worktrees.check()).toEqual([]);
    const outline = outlineOf(payload);
    if (verb !== "restore-inplace") expect(outline).toEqual(before);
    else expect(isDone ? [first] : [before, first]).toContainEqual(outline);
    await checkNext(worktrees, root, verb, { snapshots, first });
    expect(await holdfast.list()).toEqual([]);
  } finally {
    await holdfast.close();
  }
  if (isDone) rmSync(root, { recursive: true, force: true });
}

async function checkNext(
  worktrees: Worktrees,
  root: string,
  verb: Verb,
  { snapshots, first }: Pick<Stage, "first" | "snapshots">,
): Promise<void> {
  const copy = join(root, "copy");
  if (verb === "restore-new" && existsSync(copy)) expect(outlineOf(copy)).toEqual(first);
  const taken = await worktrees.take("main");
  expect((await worktrees.verify(taken.snapshot_id)).ok).toBe(true);
  expect(readdirSync(join(root, ".holdfast/snapshots/staging"))).toEqual([]);
  expect(worktrees.list().length).toBeGreaterThanOrEqual(verb === "gc" ? 3 : snapshots + 1);
  await worktrees.gc();
  expect(await worktrees.verify(null)).toMatchObject({ ok: true, findings: [] });
  if (verb === "restore-new" && !existsSync(copy))
    await worktrees.restore.toNew(worktrees.list()[0]?.snapshot_id ?? "", copy);
}
