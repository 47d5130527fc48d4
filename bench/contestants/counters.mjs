// A counter in a JSON file that several processes increment, in different ways. Each offers `increment()`, `value()` and
// `close()`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lock } from "proper-lockfile";
import writeFileAtomic from "write-file-atomic";
import { openDocuments } from "../../dist/documents/documents.js";

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
  const read = () => {
    try {
      return JSON.parse(readFileSync(path, "utf8")).n;
    } catch {
      return 0;
    }
  };
  return {
    increment: () => writeFileAtomic(path, `${JSON.stringify({ n: read() + 1 })}\n`, options),
    value: async () => read(),
    close: async () => undefined,
  };
}
