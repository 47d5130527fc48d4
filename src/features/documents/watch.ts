/**
 * Reports changes of documents: the system notifies when the journal is written, and a slow poll stands behind it.
 * Nothing is created: where there is no journal yet, only the poll looks.
 */
import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { privateFolder } from "./names.js";

const POLL_MS = 500;

/**
 * What `look` sees, at once and whenever its mark changes, until the signal aborts. A revision is no mark: a document that was
 * removed and made anew, or that git has brought, may have the one that was seen before.
 */
export async function* changesOf<T>(
  dir: string,
  look: () => Promise<T>,
  markOf: (seen: T) => unknown,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<T> {
  const bell = createBell(dir, signal);
  try {
    let last: unknown;
    for (let isFirst = true; !signal?.aborted; isFirst = false) {
      const rung = bell.next();
      const seen = await look();
      const mark = markOf(seen);
      if (isFirst || mark !== last) yield seen;
      last = mark;
      await rung;
    }
  } finally {
    bell.close();
  }
}

/** Rings when something may have changed, and at least every half second. */
function createBell(dir: string, signal: AbortSignal | undefined) {
  let ring: () => void = () => undefined;
  let watcher: FSWatcher | null = null;
  const hear = (): void => ring();
  const listen = (): void => {
    if (watcher !== null) return;
    try {
      watcher = watch(join(privateFolder(dir), "journal"), { persistent: false }, hear);
      watcher.on("error", () => {
        watcher?.close();
        watcher = null;
      });
    } catch {
      watcher = null;
    }
  };
  signal?.addEventListener("abort", hear, { once: true });
  return {
    /** Begins to listen now, so that what happens while the caller looks is heard. */
    next(): Promise<void> {
      listen();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        ring = () => {
          clearTimeout(timer);
          resolve();
        };
        if (signal?.aborted) ring();
      });
    },
    close(): void {
      signal?.removeEventListener("abort", hear);
      ring();
      watcher?.close();
    },
  };
}
