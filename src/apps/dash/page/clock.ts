/** The server's time, by which the whole page counts, and a tick each second while the page is visible. */
import { useEffect, useRef, useState } from "preact/hooks";

/** Less than this is the way of the answer, not the clock. */
const SAME_MS = 250;

let offsetMs = 0;

/** `at` is when the answer was made, by this machine's own clock. */
export function setServerTime(iso: string, at: number): void {
  const offset = Date.parse(iso) - at;
  if (Math.abs(offset - offsetMs) > SAME_MS) offsetMs = offset;
}

export function serverNow(): number {
  return Date.now() + offsetMs;
}

const listeners = new Set<() => void>();

function tick(): void {
  if (!document.hidden) for (const listener of listeners) listener();
}

setInterval(tick, 1_000);
document.addEventListener("visibilitychange", tick);

/** What `read` says of the time; the part of the page is drawn anew only when that changes. */
export function useTick<T extends string | number | boolean>(read: (nowMs: number) => T): T {
  const [, redraw] = useState({});
  const value = read(serverNow());
  const last = useRef({ read, value });
  last.current = { read, value };
  useEffect(() => {
    const look = (): void => {
      if (last.current.read(serverNow()) !== last.current.value) redraw({});
    };
    listeners.add(look);
    return () => void listeners.delete(look);
  }, []);
  return value;
}
