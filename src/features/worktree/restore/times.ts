/**
 * A time as the calls that set one take it. Half a microsecond further from 1970, because they cut off what is less than
 * one, and a double cannot say every one exactly; as text, because Node takes a negative number for now.
 */
export function timeOf(mtimeUs: number): string {
  return String((mtimeUs + (mtimeUs < 0 ? -0.5 : 0.5)) / 1e6);
}
