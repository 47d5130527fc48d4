/** Workers in processes of their own, that are killed and frozen. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { listGroup } from "../../src/support/process-table.js";
import { Place, type StoreKind } from "./place.js";

const WORKER = fileURLToPath(new URL("../fixtures/job-worker.mjs", import.meta.url));
const CHECKER = fileURLToPath(new URL("../fixtures/job-checker.mjs", import.meta.url));

interface Report {
  /** How often it has looked. */
  readonly looks: number;
  readonly found: readonly string[];
}

export interface Checker {
  report(): Promise<Report>;
}

interface Begun {
  readonly pid: number;
  readonly job: number;
  readonly parent: number;
}

export class Crew implements AsyncDisposable {
  readonly place: Place;
  readonly #processes: ChildProcess[] = [];
  readonly #names = new Map<ChildProcess, string>();

  constructor(on: StoreKind, store?: Promise<string>) {
    this.place = new Place(on, undefined, store);
  }

  /** Where runs say that they began. */
  get file(): string {
    return join(this.place.dir, "begun");
  }

  async start(lease = "3s", env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
    const child = await this.#fork(WORKER, env, lease, this.file);
    const [{ name }] = (await once(child, "message")) as [{ name: string }];
    this.#names.set(child, name);
    return child;
  }

  /** The name under which this one has its slots. */
  nameOf(worker: ChildProcess): string {
    return this.#names.get(worker) ?? "";
  }

  /** A process that looks all along for what must not be. */
  async startChecker(): Promise<Checker> {
    const child = await this.#fork(CHECKER, {});
    await once(child, "message");
    return {
      async report() {
        child.send("report");
        const [report] = (await once(child, "message")) as [Report];
        return report;
      },
    };
  }

  async #fork(module: string, env: NodeJS.ProcessEnv, ...words: readonly string[]): Promise<ChildProcess> {
    const options = { stdio: "ignore", env: { ...process.env, ...env } } as const;
    const child = fork(module, [await this.place.store(), ...words], options);
    this.#processes.push(child);
    return child;
  }

  /** All runs that began so far. */
  get begun(): Begun[] {
    const lines = existsSync(this.file) ? readFileSync(this.file, "utf8").trim().split("\n") : [];
    return lines.map((line) => {
      const [pid = 0, job = 0, parent = 0] = line.split(" ").map(Number);
      return { pid, job, parent };
    });
  }

  /** The jobs that began in this process. A lease that a busy machine lost makes some begin more than once. */
  begunBy({ pid }: ChildProcess): Set<number> {
    return new Set(this.begun.flatMap((each) => (each.pid === pid ? each.job : [])));
  }

  letGo(): void {
    writeFileSync(`${this.file}.go`, "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#processes) {
      if (worker.exitCode !== null || worker.signalCode !== null) continue;
      const over = once(worker, "exit");
      worker.kill("SIGKILL");
      await over;
    }
    await this.place[Symbol.asyncDispose]();
  }
}

export function stateOf({ pid }: { readonly pid?: number | undefined }): string {
  return /\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1] ?? "";
}

/** Whether anybody of the group still does anything. */
export function isAtWork(group: number): boolean {
  return listGroup(group).some(({ isZombie }) => !isZombie);
}
