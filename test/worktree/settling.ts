/**
 * Killing whoever finishes or undoes a restore in place that was itself killed in the middle. Asked for again, it ends as
 * it would have: `--resume` with the snapshot, `--revert` with what was there before.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openHoldfast } from "../../src/index.js";
import { openWorktrees } from "../../src/worktree/index.js";
import { inParallel } from "../crash/kill.js";
import { outlineOf } from "./scene.js";
import { copyOf, prepareStage, runVerb, type Stage } from "./sweep.js";

const PUT = /^renameSync .*stage\/new/;

export type Settling = "settle" | "revert";

export interface Interrupted {
  readonly stage: Stage;
  /** A workspace whose payload is half old, half new. */
  newRoot(): Promise<string>;
  readonly calls: Readonly<Record<Settling, readonly string[]>>;
}

export async function prepareInterrupted(): Promise<Interrupted> {
  const stage = await prepareStage("restore-inplace");
  const puts = stage.calls.flatMap((call, at) => (PUT.test(call) ? [at + 1] : []));
  const middle = puts[Math.floor(puts.length / 2)];
  const newRoot = async (): Promise<string> => {
    const root = copyOf(stage.scene.root, "interrupted");
    expect(await runVerb(stage.verb, root, middle ?? 0, "after", "kill")).toMatchObject({ killed: true });
    const payload = outlineOf(join(root, "payload"));
    for (const whole of [stage.before, stage.first]) expect(payload).not.toEqual(whole);
    return root;
  };
  const callsOf = async (verb: Settling): Promise<readonly string[]> => {
    const trial = await newRoot();
    const { ok, seen } = await runVerb(verb, trial, 0, "before", "none");
    expect(ok).toBe(true);
    expectEnd(trial, verb, stage);
    rmSync(trial, { recursive: true, force: true });
    return seen;
  };
  return { stage, newRoot, calls: { settle: await callsOf("settle"), revert: await callsOf("revert") } };
}

/** The mark that all is in place: the entry is on record, and nobody knows it yet. */
export function firstMark(calls: readonly string[]): number {
  return calls.findIndex((call) => /applied/.test(call)) + 1;
}

/** The last file that is put in place: the verb has decided, and is not done. */
export function lastPut(calls: readonly string[]): number {
  return calls.findLastIndex((call) => PUT.test(call)) + 1;
}

export function everyOther(every: number): (calls: readonly string[]) => readonly number[] {
  return (calls) => calls.map((_, index) => index + 1).filter((at) => at % every === 0);
}

/** Kills it before these operations, and asks again. Returns how many cases there were. */
export async function killSettling(
  scene: Interrupted,
  verb: Settling,
  choose: (calls: readonly string[]) => readonly number[],
): Promise<number> {
  const points = choose(scene.calls[verb]).map((at) => ({ at, call: scene.calls[verb][at - 1] }));
  await inParallel(points, 2, async ({ at, call }) => {
    const root = await scene.newRoot();
    try {
      expect(await runVerb(verb, root, at, "before", "kill")).toMatchObject({ killed: true });
      expect(await settleWhole(root, verb)).toEqual([]);
      expectEnd(root, verb, scene.stage);
    } catch (error) {
      throw new Error(
        `${verb} killed before ${at} of ${scene.calls[verb].length}, ${call}: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
  return points.length;
}

/** What is wrong after it was asked for again, in this process. */
async function settleWhole(root: string, verb: Settling): Promise<readonly unknown[]> {
  const holdfast = await openHoldfast({ root, owner: "agent:next", heart: "loop" });
  try {
    const worktrees = await openWorktrees(holdfast, { root, threads: 0 });
    await worktrees.restore.settle("main", { revert: verb === "revert" });
    // What the killed one held is free, and nothing else is held.
    await (await holdfast.acquire("worktree:main")).release();
    expect(await holdfast.list()).toEqual([]);
    const told = (await holdfast.audit.list({ event: "restore" })).map(({ details }) => details.restore_id);
    expect(told).toHaveLength(verb === "revert" ? 2 : 1);
    expect(new Set(told).size).toBe(told.length);
    expect((await worktrees.verify(null)).findings).toEqual([]);
    await worktrees.check({ repair: true });
    return await worktrees.check();
  } finally {
    await holdfast.close();
  }
}

function expectEnd(root: string, verb: Settling, { before, first }: Stage): void {
  expect(outlineOf(join(root, "payload"))).toEqual(verb === "revert" ? before : first);
}
