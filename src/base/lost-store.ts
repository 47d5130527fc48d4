/**
 * Makes and recognizes the error of a lost store: the place that a URL names holds nothing any more, or another store
 * than the one that was opened or recorded. Every lease in such a store is over, and nothing is written to it.
 */
import { HoldfastError } from "./errors.js";

/** `details.lost`: how the store was lost. */
export type StoreLoss = "missing" | "emptied" | "replaced" | "moved";

const SAID: Readonly<Record<StoreLoss, string>> = {
  missing: "is gone: it was deleted or moved away",
  emptied: "was emptied: it holds no store any more",
  replaced: "was replaced: another store is there now",
  moved: "is not the store of its workspace any more: holdfast init moved the workspace to another",
};

/** An `E_STORE_CORRUPT` that names the place, and both stores where their ids are known. */
export function lostStore(url: string, lost: StoreLoss, expectedId?: string, foundId?: string): HoldfastError {
  const recorded =
    expectedId === undefined ? "" : ` (on record is ${expectedId}${foundId ? `, there is ${foundId}` : ""})`;
  return new HoldfastError("E_STORE_CORRUPT", `the store ${url} ${SAID[lost]}${recorded}`, {
    details: {
      store: url,
      lost,
      ...(expectedId && { expected_id: expectedId }),
      ...(foundId && { found_id: foundId }),
    },
    next:
      lost === "moved"
        ? ["Open the workspace again: its record names the store."]
        : ["Put the store back if it was moved away.", "Or begin a new one, with nothing held in it: holdfast init"],
  });
}

/** The same for a file that is there and empty, where no record says that it was a store. */
export function emptyStore(url: string, path: string): HoldfastError {
  return new HoldfastError(
    "E_STORE_CORRUPT",
    `the store ${url} was emptied, or never was a store: ${path} is an empty file`,
    {
      details: { store: url, path, lost: "emptied" },
      next: [
        "Put the store back if there is a backup.",
        `Or begin a new one, with nothing held in it: holdfast init, or outside of a workspace remove ${path} first`,
      ],
    },
  );
}

export function isLostStore(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && error.code === "E_STORE_CORRUPT" && error.details.lost !== undefined;
}
