/** Returns a random time between two, so that callers that were turned away together do not all come back together. */
export function jittered(atLeastMs: number, atMostMs: number): number {
  return atLeastMs + Math.random() * (atMostMs - atLeastMs);
}
