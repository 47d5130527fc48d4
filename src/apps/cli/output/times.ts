/** Formats times and durations for people. */

/** `45 s`, `3 min`, `2 h 5 min`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 || hours >= 24 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}

/** The same of milliseconds, for what may be shorter than a second: `500 ms`. */
export function inWords(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : span(ms / 1000);
}

/** `17:40:12`, with the date when it is not today's. */
export function clockTime(iso: string, now = new Date()): string {
  const at = new Date(iso);
  const two = (number: number): string => String(number).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return at.toDateString() === now.toDateString() ? time : `${date} ${time}`;
}

export function secondsSince(iso: string): number {
  return (Date.now() - Date.parse(iso)) / 1000;
}

export function secondsUntil(iso: string): number {
  return (Date.parse(iso) - Date.now()) / 1000;
}
