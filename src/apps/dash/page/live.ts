/**
 * Keeps the data of a view fresh: requests it again a second after the answer arrived, or four times as long as the
 * answer took, so that a page never costs the server more than a fifth of its time. Nothing is requested while the page
 * is hidden.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, connection, Refused } from "./fetch.js";

const LEAST_PAUSE_MS = 1_000;
const PAUSE_PER_ANSWER = 4;

export interface Live<T> {
  /** The last answer, also while the answer to another question is awaited. */
  readonly data: T | null;
  readonly refusal: Refused | null;
  /** What was asked when this was the answer. */
  readonly asked: string;
  /** The answer is to what is asked now, not to what was asked before. */
  readonly isCurrent: boolean;
}

const loops = new Set<() => void>();

/** After something was changed. */
export function askAgain(): void {
  for (const askNow of loops) askNow();
}

/** `path` says what is asked; `pathNow` gives it its last shape just before, where that depends on the time. */
export function useLive<T extends { readonly now: string }>(path: string, pathNow?: () => string): Live<T> {
  const [state, setState] = useState<{ path: string; data: T | null; refusal: Refused | null }>({
    path,
    data: null,
    refusal: null,
  });
  const latest = useRef(pathNow);
  latest.current = pathNow;

  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAsking = false;
    let isWanted = false;
    /** The same answer again draws nothing again. */
    let lastSaid: string | null = null;

    const turn = async (): Promise<void> => {
      clearTimeout(timer);
      if (isAsking) isWanted = true;
      if (isAsking || document.hidden || ended.signal.aborted || connection.get().isOver) return;
      isAsking = true;
      isWanted = false;
      const begunAt = performance.now();
      try {
        const data = await ask<T>(latest.current?.() ?? path, { signal: ended.signal });
        const said = JSON.stringify({ ...data, now: null });
        if (said !== lastSaid) setState({ path, data, refusal: null });
        lastSaid = said;
      } catch (error) {
        if (ended.signal.aborted) return;
        if (error instanceof Refused)
          setState((before) => ({ path, data: before.path === path ? before.data : null, refusal: error }));
        lastSaid = null;
      } finally {
        isAsking = false;
      }
      const pauseMs = Math.max(LEAST_PAUSE_MS, PAUSE_PER_ANSWER * (performance.now() - begunAt));
      timer = setTimeout(turn, isWanted ? 0 : pauseMs);
    };

    document.addEventListener("visibilitychange", turn);
    loops.add(turn);
    void turn();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", turn);
      loops.delete(turn);
    };
  }, [path]);

  return { data: state.data, refusal: state.refusal, asked: state.path, isCurrent: state.path === path };
}
