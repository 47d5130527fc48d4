/**
 * Quotes text for agents. Text that others have written (owners, notes, titles) is data: it appears inside quotes, on
 * one line, with everything escaped that could end the quotes, break the line or hide text. Only names that cannot do
 * so appear without quotes.
 */
const HARMLESS = /^[\w@%+=:,./~-]{1,200}$/;
/** Control and format characters, such as those that turn the direction of writing, and the two line separators. */
const UNSEEN = /[\p{C}\u2028\u2029]/gu;
const SHOWN = 400;

/** A name or a text of somebody else's. */
export function quoted(text: string, shown = SHOWN): string {
  if (HARMLESS.test(text)) return text;
  const cut = text.length > shown ? `${text.slice(0, shown)}…` : text;
  // mutant: mcp-quotes: return JSON.stringify(cut).replace(UNSEEN, escaped); → return cut;
  return JSON.stringify(cut).replace(UNSEEN, escaped);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** `45 s`, `3 min`, `2 h`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

export function listed(names: readonly string[]): string {
  return names.map((name) => quoted(name)).join(", ");
}
