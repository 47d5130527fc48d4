/** Keeps what was found out about a folder for a second, for calls that ask about the same folders again and again. */

const KEPT_FOR_MS = 1_000;
const MOST_KEPT = 4_096;

export interface ShortMemory<T> {
  /** Answers from memory, or calls `find` and keeps its answer. An error is not kept, nor is `undefined`. */
  recall(folder: string, find: () => T): T;
  /** Forgets everything, for a search that must see what is there now. */
  clear(): void;
}

export function createShortMemory<T>(): ShortMemory<T> {
  const kept = new Map<string, { readonly found: T; readonly until: number }>();
  return {
    recall(folder, find) {
      const now = performance.now();
      const known = kept.get(folder);
      if (known !== undefined && now < known.until) return known.found;
      const found = find();
      // mutant: memory-of-absence: if (found === undefined) return found; →
      if (found === undefined) return found;
      if (kept.size >= MOST_KEPT) kept.clear();
      kept.set(folder, { found, until: now + KEPT_FOR_MS });
      return found;
    },
    clear() {
      kept.clear();
    },
  };
}
