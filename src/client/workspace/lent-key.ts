/** The key of a file that a run lends: borrowers of one run exclude each other there. */
import type { Key } from "../../lock/key.js";
import { LENT_TREE } from "../../lock/reserved-kinds.js";
import { fittingKey } from "../path-key.js";
import { digest } from "./token-folder.js";

/** Of a path key that `lender` holds. */
export function lentKey(lender: string, key: Key): Key {
  return fittingKey([LENT_TREE, digest(lender), ...key.split("/").slice(1)]);
}

export function isLentKey(key: string): boolean {
  return key.startsWith(`${LENT_TREE}/`);
}
