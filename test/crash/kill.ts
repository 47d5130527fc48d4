/** Scenarios in processes of their own that are really killed. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FaultKind } from "../fixtures/fault-injection.mjs";
import type { Told } from "../fixtures/fault-scenarios.mjs";

const CHILD = fileURLToPath(new URL("../fixtures/fault-child.mjs", import.meta.url));

export interface KillPoint {
  readonly at: number;
  readonly when: "before" | "after";
  readonly what: FaultKind;
}

export interface Killed {
  /** What the process had been told when it died, or null. */
  readonly told: readonly Told[] | null;
}

/** Runs the scenario in the store and resolves when its process is dead. */
export function runAndKill(name: string, dir: string, { at, when, what }: KillPoint): Promise<Killed> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [CHILD, name, dir, String(at), when, what], (error, stdout, stderr) => {
      if (error?.signal !== "SIGKILL") {
        reject(new Error(`${name} was not killed: ${stderr}`, { cause: error }));
        return;
      }
      const line = stdout.trim();
      resolve({ told: line === "" ? null : (JSON.parse(line) as { told: readonly Told[] }).told });
    });
  });
}

let stores = 0;
export function newStoreIn(base: string): string {
  stores += 1;
  return join(base, `killed-${stores}`);
}

/** Works on the items a few at a time, in any order. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
