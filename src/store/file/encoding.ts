/** Encodes key segments as file names, never longer than a name may be. They are not decoded: each record carries its key. */
import { createHash } from "node:crypto";
import { plainName } from "../../files/plain-name.js";

const LONGEST_NAME = 180;
const KEPT_OF_LONG_NAME = 100;

export function encodeSegment(segment: string): string {
  const name = plainName(segment);
  return name.length <= LONGEST_NAME ? name : shorten(name);
}

/** `%~` occurs in no other name, since a percent sign is always followed by two digits. */
function shorten(name: string): string {
  return `${name.slice(0, KEPT_OF_LONG_NAME)}%~${createHash("sha256").update(name).digest("hex").slice(0, 40)}`;
}
