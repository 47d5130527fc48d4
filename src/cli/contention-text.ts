/** A refusal in words: who holds it, where, since when, and for how long still. */

export function explainContention(_details: Readonly<Record<string, unknown>>): string | null {
  return null;
}
