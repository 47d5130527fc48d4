// A counter in a JSON file that several processes increment, in different ways. Each offers `increment()`, `value()` and
// `close()`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Conf from "conf";
import { JSONFilePreset } from "lowdb/node";
import { lock } from "proper-lockfile";
import writeFileAtomic from "write-file-atomic";
import { openDocuments } from "../../dist/features/documents/documents.js";

const OFTEN = { forever: true, factor: 1, minTimeout: 10, maxTimeout: 10 };

/** Durable: each increment is on the disk before it counts. */
export function openDocumentCounter(folder) {
  const documents = openDocuments(folder);
  return {
    increment: () => documents.update("counter", (counter) => ({ n: (counter?.n ?? 0) + 1 })),
    value: async () => (await documents.get("counter"))?.value.n ?? 0,
    close: () => documents.close(),
  };
}

/** The usual advice, without a sync. */
export function openLockfileCounter(folder) {
  const counter = openAtomicCounter(folder, { fsync: false });
  return {
    ...counter,
    async increment() {
      const release = await lock(join(folder, "counter.json"), { realpath: false, retries: OFTEN });
      try {
        await counter.increment();
      } finally {
        await release();
      }
    },
  };
}

/** What many tools do: atomic writes and no lock. */
export function openAtomicCounter(folder, options = {}) {
  const path = join(folder, "counter.json");
  return {
    increment: () => writeFileAtomic(path, `${JSON.stringify({ n: readCount(path) + 1 })}\n`, options),
    value: async () => readCount(path),
    close: async () => undefined,
  };
}

/** Nothing, or nothing that can be read, is 0. */
function readCount(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).n;
  } catch {
    return 0;
  }
}

/**
 * lowdb as its readme has it: the file is read once, then changed in memory and written whole. Its processes share one
 * temporary file, so a write may fail because another has renamed it away; that is borne here, as a loss.
 */
export async function openLowdbCounter(folder) {
  const path = join(folder, "counter.json");
  const database = await JSONFilePreset(path, { n: 0 });
  return {
    increment: () =>
      database
        .update((counter) => {
          counter.n += 1;
        })
        .catch(() => undefined),
    value: async () => readCount(path),
    close: async () => undefined,
  };
}

/** conf reads its file for each `get` and replaces it for each `set`. */
export async function openConfCounter(folder) {
  const conf = new Conf({ cwd: folder, configName: "counter", projectName: "bench" });
  return {
    increment: async () => conf.set("n", conf.get("n", 0) + 1),
    value: async () => conf.get("n", 0),
    close: async () => undefined,
  };
}
