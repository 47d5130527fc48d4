/** Steps that the crash tests interrupt, and what must be true of the documents afterwards. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Documents, Transaction } from "../../../src/features/documents/documents.js";
import { documentsAt } from "../../fixtures/documents/documents.fixture.js";
import { type FaultKind, faults } from "../../fixtures/fault-injection.fixture.mjs";

export interface Step {
  readonly prepare: (documents: Documents) => Promise<void>;
  readonly step: (tx: Transaction) => void;
  /** The boot in which the step is done; what came before was in another. */
  readonly boot?: string;
}

const BIG = "x".repeat(700_000);

export const STEPS: Readonly<Record<string, Step>> = {
  "the first change of all": { prepare: async () => undefined, step: (tx) => void tx.put("a", { n: 1 }) },
  "several documents and a log": {
    async prepare(documents) {
      await documents.transact((tx) => {
        for (const id of ["a", "b", "sub/c"]) tx.put(id, { n: 0 });
        tx.append("events", { n: 0 });
      });
    },
    step(tx) {
      tx.put("a", { n: 1 });
      tx.remove("b");
      tx.put("sub/c", { n: 1 });
      tx.put("sub/d", { n: 1, words: "y".repeat(9_000) });
      tx.append("events", { n: 1 });
      tx.append("events", { n: 2, words: "z".repeat(9_000) });
    },
  },
  "when the journal is full": {
    async prepare(documents) {
      await documents.update("a", () => ({ n: 0, words: BIG }));
      await documents.transact((tx) => tx.append("events", { n: 0 }));
    },
    step(tx) {
      tx.put("a", { n: 1, words: BIG });
      tx.put("b", { n: 1 });
      tx.append("events", { n: 1 });
    },
  },
  "after a restart of the machine": {
    async prepare(documents) {
      await documents.update("a", () => ({ n: 0 }));
      await documents.transact((tx) => tx.append("events", { n: 0 }));
    },
    step(tx) {
      tx.put("a", { n: 1 });
      tx.append("events", { n: 1 });
    },
    boot: "a later boot",
  },
};

/** Everything there is, in a form that can be compared. */
export async function stateOf(dir: string, boot?: string): Promise<string> {
  const documents = documentsAt(dir, boot);
  const found: unknown[] = [];
  for (const id of await documents.list()) found.push(await documents.get(id));
  found.push(await documents.log("events"));
  return JSON.stringify(found);
}

let made = 0;

/** The step in a folder of its own, disturbed at one place. */
export async function disturbed(base: string, { prepare, step, boot }: Step, at: number, what: FaultKind) {
  made += 1;
  const dir = join(base, String(made));
  faults.skipSyncs();
  faults.watch(dir);
  const earlier = documentsAt(dir);
  await prepare(earlier);
  const before = await stateOf(dir);
  const mark = faults.mark();
  const documents = documentsAt(dir, boot);
  faults.arm({ at, what });
  let outcome: "done" | "died" | "failed" = "failed";
  try {
    await documents.transact(step);
    outcome = faults.stopped ? "died" : "done";
  } catch {
    outcome = faults.stopped ? "died" : "failed";
  }
  const { seen } = faults.disarm();
  faults.bury(mark);
  await earlier.close();
  return { dir, before, seen, outcome };
}

/** Whoever comes next makes a change of its own. */
export async function comeNext(dir: string, boot?: string): Promise<void> {
  const next = documentsAt(dir, boot);
  await next.update("next", () => ({ n: 1 }));
  await next.close();
}

/** Without what `comeNext` adds. */
export async function stateAfterNext(dir: string, boot?: string): Promise<string> {
  const next = documentsAt(dir, boot);
  await next.update("next", () => null);
  await next.close();
  return stateOf(dir, boot);
}

export function expectOneOf(found: string, states: readonly string[], where: string): void {
  expect(states.includes(found), `${where}: neither old nor new: ${found.slice(0, 300)}`).toBe(true);
}

export function forget(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}
