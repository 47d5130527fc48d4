/** Random histories of the documents, the power cut at any moment of them, and what must be left. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { faults } from "../fixtures/fault-injection.mjs";
import { recordDisk } from "../fixtures/fault-power-cut.mjs";
import { seeded } from "../seeded.js";
import { documentsAt } from "./place.js";

/** One change: these documents got this number, and so did a line of the log. Moments count file operations. */
interface Fact {
  readonly n: number;
  readonly ids: readonly string[];
  readonly removed: boolean;
  readonly from: number;
  readonly toldAt: number;
}

const IDS = ["a", "b", "sub/c", "sub/d"];

async function live(dir: string, random: () => number, steps: number) {
  faults.watch(dir);
  faults.skipSyncs();
  const disk = recordDisk(dir);
  const facts: Fact[] = [];
  let documents = documentsAt(dir, "before the cut");
  for (let n = 1; n <= steps; n += 1) {
    const chosen = IDS.filter(() => random() < 0.4);
    const ids = chosen.length === 0 ? ["a"] : chosen;
    const removed = random() < 0.1;
    const words = "w".repeat(random() < 0.3 ? 200_000 : Math.floor(random() * 600));
    const from = disk.length;
    await documents.transact((tx) => {
      for (const id of ids)
        if (removed) tx.remove(id);
        else tx.put(id, { n, words });
      tx.append("events", { n });
    });
    facts.push({ n, ids, removed, from, toldAt: disk.length });
    if (random() < 0.1) {
      await documents.close();
      documents = documentsAt(dir, "before the cut");
    }
  }
  await documents.close();
  disk.stop();
  return { disk, facts };
}

/** The number of each document after the first `count` changes. */
function numbersAfter(facts: readonly Fact[], count: number): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const { n, ids, removed } of facts.slice(0, count))
    for (const id of ids) {
      if (removed) delete numbers[id];
      else numbers[id] = n;
    }
  return numbers;
}

async function found(dir: string, boot: string) {
  const documents = documentsAt(dir, boot);
  const numbers: Record<string, number> = {};
  for (const id of await documents.list())
    if (id !== "next") numbers[id] = (await documents.get<{ n: number }>(id))?.value.n ?? -1;
  return { numbers, log: (await documents.log("events")).map((entry) => entry.n) };
}

async function cutAndGoOn(history: Awaited<ReturnType<typeof live>>, target: string, random: () => number) {
  const cut = 1 + Math.floor(random() * history.disk.length);
  history.disk.layOut(cut, target, random);
  const told = history.facts.filter(({ toldAt }) => toldAt <= cut).length;
  const begun = history.facts.filter(({ from }) => from < cut).length;
  const possible = [told, begun].map((count) => numbersAfter(history.facts, count));
  const early = await found(target, "after the cut");
  expect(possible, "a reader that comes first").toContainEqual(early.numbers);
  const documents = documentsAt(target, "after the cut");
  await documents.update("next", () => ({ n: 1 }));
  await documents.close();
  const late = await found(target, "after the cut");
  expect(late.numbers, "once somebody has been inside").toEqual(early.numbers);
  const whole = history.facts.map(({ n }) => n);
  expect([whole.slice(0, told), whole.slice(0, begun)], "the log").toContainEqual(late.log);
}

export async function livesThroughCuts(base: string, seed: number, steps: number, cuts: number): Promise<void> {
  const dir = join(base, `lived-${seed}`);
  const mark = faults.mark();
  const history = await live(dir, seeded(seed), steps);
  faults.bury(mark);
  for (let each = 0; each < cuts; each += 1) {
    const target = join(base, `cut-${seed}-${each}`);
    try {
      await cutAndGoOn(history, target, seeded(seed * 1_000 + each));
    } catch (error) {
      throw new Error(`seed ${seed}, cut ${each}: ${(error as Error).message}`, { cause: error });
    }
    rmSync(target, { recursive: true, force: true });
  }
  rmSync(dir, { recursive: true, force: true });
}
