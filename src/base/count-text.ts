/** Writes counts and sizes for people, the same on the command line and on the page. Browser-safe. */

/** Returns `1,204`. */
export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** Returns `1 lock`, `1,204 locks`. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** Returns `12.3 MB`. */
export function size(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  for (; value >= 1_000 && unit < units.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
