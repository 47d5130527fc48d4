/** The key of a file that a run lends: borrowers of one run exclude each other there. */
import type { Key } from "../../lock/key.js";
import { LENT_TREE, PATH_TREE } from "../../lock/reserved-kinds.js";
import { fittingKey } from "../path-key.js";
import { digest } from "./token-folder.js";

/** Of a path key that `lender` holds. The scope of another worktree begins with a colon, which no name of a file does. */
export function lentKey(lender: string, key: Key): Key {
  const [tree = "", ...segments] = key.split("/");
  const scope = tree === PATH_TREE ? [] : [`:${tree}`];
  return fittingKey([LENT_TREE, digest(lender), ...scope, ...segments]);
}

export function isLentKey(key: string): boolean {
  return key.startsWith(`${LENT_TREE}/`);
}
