/** Keeps which rows of a list are open, and returns the list with the open rows that are no longer in the answer. */
import { useMemo, useRef, useState } from "preact/hooks";
import { type KeptRow, keepRows } from "../kept-rows.js";

export interface OpenRows<T> {
  readonly rows: readonly KeptRow<T>[];
  isOpen(id: string): boolean;
  toggle(id: string): void;
}

/** `list` says what `answer` is the answer to: with another one nothing is kept. */
export function useOpenRows<T>(list: string, answer: readonly T[], idOf: (row: T) => string): OpenRows<T> {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<{ list: string; rows: readonly KeptRow<T>[] }>({ list, rows: [] });
  const isOpen = (id: string): boolean => open.has(id);
  const rows = useMemo(
    () => keepRows(last.current.list === list ? last.current.rows : [], answer, idOf, isOpen),
    [list, answer, open],
  );
  last.current = { list, rows };
  const toggle = (id: string): void => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  return { rows, isOpen, toggle };
}
