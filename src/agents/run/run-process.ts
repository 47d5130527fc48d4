/**
 * Finds the process of an agent's run, so that the run's locks end with it. A hook is started by the agent, often
 * through a shell: some of its ancestors live as briefly as itself, and a lock bound to one of those would be
 * recoverable at once. So the first hook of a run only records its ancestors, and a later one uses the nearest ancestor
 * that both share.
 *
 *   <state>/holdfast/runs/<store>/<owner>.json      mode 0600
 *
 * Until then, and where the system does not tell, a lock of the run has no process, and only its lease counts.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { digest, stateFolder } from "../../client/workspace/token-files.js";
import { removeQuietly } from "../../files/durable-file.js";
import { ageOfFile } from "../../platform/clock.js";
import { pidNamespace } from "../../platform/machine.js";
import { namesIn } from "../../platform/names-in.js";
import { ancestorsOfThis, type ProcessMark } from "../../platform/process/ancestors.js";
import { isFields } from "../hooks/fields.js";

interface KeptRun {
  readonly schema_version: 1;
  readonly owner: string;
  readonly pid_namespace: string;
  readonly ancestors: readonly ProcessMark[];
}

const FORGOTTEN_AFTER_MS = 7 * 24 * 3_600_000;

export class RunProcesses {
  readonly #dir: string;

  constructor(env: NodeJS.ProcessEnv, store: string) {
    this.#dir = join(stateFolder(env), "holdfast", "runs", digest(store));
  }

  /** The process to bind this run's locks to, or null while nobody knows. Call it at every event. */
  find(owner: string): number | null {
    const now = ancestorsOfThis();
    if (now.length === 0) return null;
    const path = this.#pathOf(owner);
    const before = read(path);
    if (before !== null && before.owner === owner && before.pid_namespace === pidNamespace()) {
      const known = new Set(before.ancestors.map(markText));
      const common = now.find((each) => known.has(markText(each)));
      // mutant: hook-process: undefined) return common.pid; → undefined) return now[0]?.pid ?? null;
      if (common !== undefined) return common.pid;
    }
    this.#write(path, { schema_version: 1, owner, pid_namespace: pidNamespace(), ancestors: now });
    return null;
  }

  forget(owner: string): void {
    removeQuietly(this.#pathOf(owner));
  }

  /** Takes away what runs have left that ended without a word, a week ago. */
  sweep(): void {
    for (const name of namesIn(this.#dir)) {
      const path = join(this.#dir, name);
      const told = statSync(path, { throwIfNoEntry: false });
      if (told !== undefined && ageOfFile(told.mtimeMs) > FORGOTTEN_AFTER_MS) removeQuietly(path);
    }
  }

  #pathOf(owner: string): string {
    return join(this.#dir, `${digest(owner)}.json`);
  }

  /** Without it the lock has a lease and no process: nothing to fail for. */
  #write(path: string, run: KeptRun): void {
    try {
      mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
      writeFileSync(path, `${JSON.stringify(run)}\n`, { mode: 0o600 });
    } catch {}
  }
}

function read(path: string): KeptRun | null {
  try {
    const kept: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isFields(kept) && kept.schema_version === 1 && Array.isArray(kept.ancestors)
      ? (kept as unknown as KeptRun)
      : null;
  } catch {
    return null;
  }
}

function markText({ pid, startTime }: ProcessMark): string {
  return `${pid} ${startTime}`;
}
