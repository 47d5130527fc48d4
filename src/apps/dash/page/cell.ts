/** A cell: a value that several parts of the page read and watch for changes. */
import { useEffect, useState } from "preact/hooks";

export interface Cell<T> {
  get(): T;
  set(value: T): void;
  /** Returns how to stop. */
  watch(changed: () => void): () => void;
}

export function createCell<T>(initial: T): Cell<T> {
  const watchers = new Set<() => void>();
  let current = initial;
  return {
    get: () => current,
    set: (value) => {
      if (Object.is(value, current)) return;
      current = value;
      for (const changed of watchers) changed();
    },
    watch: (changed) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
  };
}

export function useCell<T>(cell: Cell<T>): T {
  const [, redraw] = useState({});
  useEffect(() => cell.watch(() => redraw({})), [cell]);
  return cell.get();
}
