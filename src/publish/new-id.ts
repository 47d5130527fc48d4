import { randomUUID } from "node:crypto";

/** Names a publish, its manifest and its stage. */
export function newId(): string {
  return randomUUID();
}
