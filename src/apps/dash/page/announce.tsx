/**
 * Announces messages to a screen reader when the element that would tell them does not have the focus: few messages,
 * one at a time.
 */
import { useEffect, useRef } from "preact/hooks";
import { createCell, useCell } from "./cell.js";

const said = createCell({ text: "", number: 0 });

export function announce(text: string): void {
  said.set({ text, number: said.get().number + 1 });
}

/** The same words again are said again. */
export function Announcer() {
  const { text, number } = useCell(said);
  return (
    <div class="unseen" role="status" aria-live="polite">
      <p key={number}>{text}</p>
    </div>
  );
}

/** Says how many were found, once for each search and not for each answer. */
export function useSearchResult(search: string, result: string | null): void {
  const last = useRef(search);
  useEffect(() => {
    if (result === null || last.current === search) return;
    last.current = search;
    announce(result);
  }, [search, result]);
}
