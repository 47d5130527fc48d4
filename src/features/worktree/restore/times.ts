/**
 * Converts a time of a manifest to the argument of the calls that set file times. It adds half a microsecond away from
 * 1970, because those calls cut off less than one, and a double cannot represent every one exactly; the argument is
 * text, because Node reads a negative number as the present.
 */
export function timeOf(mtimeUs: number): string {
  return String((mtimeUs + (mtimeUs < 0 ? -0.5 : 0.5)) / 1e6);
}
