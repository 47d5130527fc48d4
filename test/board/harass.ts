/** Processes that do anything to a board, killed at random moments and replaced, and a look at what they leave. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { expectSoundBoard, type Place, startWorker, type Worker } from "./crowd.js";

export async function harass(
  { root, board }: Place,
  { workers, forMs }: { readonly workers: number; readonly forMs: number },
): Promise<number> {
  let names = 0;
  const start = (): Worker => {
    names += 1;
    return startWorker(root, `agent:${names}`, { do: "anything" });
  };
  const alive = Array.from({ length: workers }, start);
  const told: Record<string, unknown>[] = [];
  let kills = 0;
  const end = performance.now() + forMs;
  while (performance.now() < end || kills < workers) {
    await sleep(20 + Math.random() * 150);
    const at = Math.floor(Math.random() * alive.length);
    const victim = alive[at];
    // One that has not begun yet shows nothing.
    if (victim === undefined || victim.told().length === 0) continue;
    await victim.kill();
    told.push(...victim.told());
    kills += 1;
    alive[at] = start();
  }
  for (const worker of alive) {
    await worker.kill();
    told.push(...worker.told());
  }
  await board.add({ title: "after all of that" });
  await expectKept(board, told);
  return kills;
}

/** No save that was acknowledged is missing. Nobody takes labels or dependencies away here. */
async function expectKept(board: Place["board"], told: readonly Record<string, unknown>[]): Promise<void> {
  const issues = new Map((await expectSoundBoard(board)).map((issue) => [issue.id, issue]));
  const added = told.filter(({ did }) => did === "add").map(({ id }) => String(id));
  expect(new Set(added).size, "an id was given out twice").toBe(added.length);
  for (const { did, id, label, on } of told) {
    const issue = issues.get(String(id));
    expect(issue, `issue ${String(id)}`).toBeDefined();
    if (did === "label") expect(issue?.labels, `label of ${String(id)}`).toContain(label);
    if (did === "depend") expect(issue?.dependencies, `dependency of ${String(id)}`).toContain(on);
  }
}
