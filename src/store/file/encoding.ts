/**
 * Encodes key segments as file names: readable, safe on file systems that ignore case or forbid characters, and never
 * longer than a name may be. Names are not decoded: each record carries its key.
 */
import { createHash } from "node:crypto";

const PLAIN = /^[a-z0-9._\-+=,@~]*$/;
const LONGEST_NAME = 180;
const KEPT_OF_LONG_NAME = 100;

export function encodeSegment(segment: string): string {
  if (PLAIN.test(segment) && !segment.endsWith(".")) return segment.length <= LONGEST_NAME ? segment : shorten(segment);
  let name = "";
  for (const char of segment) name += PLAIN.test(char) ? char : percent(char);
  if (name.endsWith(".")) name = `${name.slice(0, -1)}%2e`;
  return name.length <= LONGEST_NAME ? name : shorten(name);
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

/** `%~` occurs in no other name, since a percent sign is always followed by two digits. */
function shorten(name: string): string {
  return `${name.slice(0, KEPT_OF_LONG_NAME)}%~${createHash("sha256").update(name).digest("hex").slice(0, 40)}`;
}
