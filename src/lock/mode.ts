/**
 * Modes, and the marks they leave on nodes. A grant puts its own mark on its node and an intent on every ancestor, so
 * that two grants conflict exactly when, at some node, their marks do. Intents are derived from keys; they need no rows.
 *
 *              at the key's node     at each ancestor
 *   read        R                     IR
 *   upgradeable U                     IW
 *   write       W                     IW
 *   permit      P                     IW       (one of n places of a semaphore: covers no subtree)
 */
export const MODES = ["read", "upgradeable", "write"] as const;
export type Mode = (typeof MODES)[number];

export type Mark = "IR" | "IW" | "R" | "U" | "W" | "P";

/** What a request wants at one key. `permits` makes it one place of a semaphore with that many. */
export interface Hold {
  readonly mode: Mode;
  readonly permits: number | null;
}

export function ownMark({ mode, permits }: Hold): Mark {
  if (permits !== null) return "P";
  return mode === "read" ? "R" : mode === "upgradeable" ? "U" : "W";
}

export function ancestorMark({ mode }: Hold): Mark {
  return mode === "read" ? "IR" : "IW";
}

/** Which marks may stand beside which. Symmetric. Two permits meet here only to be counted by the caller. */
const COMPATIBLE: Readonly<Record<Mark, readonly Mark[]>> = {
  IR: ["IR", "IW", "R", "U", "P"],
  IW: ["IR", "IW", "P"],
  // mutant: read-above-write: R: ["IR", "R", "U"], → R: ["IR", "IW", "R", "U"],
  R: ["IR", "R", "U"],
  // mutant: two-upgradeables: U: ["IR", "R"], → U: ["IR", "R", "U"],
  U: ["IR", "R"],
  W: [],
  P: ["IR", "IW", "P"],
};

export function compatible(one: Mark, other: Mark): boolean {
  return COMPATIBLE[one].includes(other);
}

/** True when holding `held` at a key already gives everything `wanted` would, there and below. */
export function covers(held: Hold, wanted: Hold): boolean {
  if (held.permits !== null || wanted.permits !== null) return false;
  return held.mode === "write" || wanted.mode === "read";
}
