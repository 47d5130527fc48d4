/** Workers in processes of their own, that are killed and frozen. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInGroup } from "../../src/support/process-table.js";
import { Place, type StoreKind } from "./place.js";

const WORKER = fileURLToPath(new URL("../fixtures/job-worker.mjs", import.meta.url));

interface Begun {
  readonly pid: number;
  readonly job: number;
  readonly parent: number;
}

export class Crew implements AsyncDisposable {
  readonly place: Place;
  readonly #workers: ChildProcess[] = [];

  constructor(on: StoreKind) {
    this.place = new Place(on);
  }

  /** Where runs say that they began. */
  get file(): string {
    return join(this.place.dir, "begun");
  }

  async start(lease = "3s"): Promise<ChildProcess> {
    const child = fork(WORKER, [await this.place.store(), lease, this.file], { stdio: "ignore" });
    this.#workers.push(child);
    await once(child, "message");
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
    for (const worker of this.#workers) {
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
  return isInGroup(group, ({ isZombie }) => !isZombie);
}
