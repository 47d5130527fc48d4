/**
 * The mark beside a target: the fencing token of the publisher that last began to publish there, and an id of the
 * location. It is for stores on a server, which cannot keep others away from this disk once their connection is lost.
 * It lies in `<parent of the target>/.holdfast-fence/`, one file a target; changing it, and renaming something to the
 * target, happen under a kernel lock on the file `guard` there, so no other process gets in between a check of the mark
 * and a rename.
 *
 *   a publish begins      the mark is made if there is none, on the disk; then it is raised to the publisher's token
 *   the rename            refused when the mark is no longer the publisher's own: another publisher has begun since
 *
 * Tokens grow within one tree of one store, so only those are compared. A publisher in a workspace leaves the token of the
 * target's own key, so publishers under different keys compare. Elsewhere it leaves that of the key it publishes under: a
 * publisher that the store lets begin under another key, or one of another store, makes the mark its own.
 *
 * A crash leaves the old mark or the new one, and perhaps a `.new` beside it, which the next publisher writes over. The
 * mark is never lowered and never removed. A person who removes it removes the protection until the next publish begins,
 * and nothing else. On a file system that several machines share it protects as far as kernel locks are shared.
 */
import { createHash, randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { HoldfastError, ioError } from "../base/errors.js";
import { placeAt } from "../platform/exchange.js";
import { makeHome } from "../platform/folder-rights.js";
import { isThere, namesIn } from "../platform/look-up.js";
import { thisMachine } from "../platform/machine.js";
import { replaceFile, syncFolder } from "./durable-file.js";
import { underGuard } from "./guard.js";
import { textIfThere } from "./if-there.js";

export const MARKS_FOLDER = ".holdfast-fence";

/** Who publishes: a token, and among which it counts. */
export interface MarkHolder {
  readonly store: string;
  readonly tree: string;
  readonly fencingToken: number;
}

interface Mark extends MarkHolder {
  readonly placeId: string;
}

interface MarkRecord {
  readonly schema_version: 1;
  readonly target: string;
  readonly place: string;
  readonly store: string;
  readonly tree: string;
  readonly fencing_token: number;
}

const NOBODY: MarkHolder = { store: "", tree: "", fencingToken: 0 };

/** Returns the marks of all targets in a folder, with the path of each. `E_IO`, `E_STORE_CORRUPT` */
export function marksIn(folder: string): (MarkHolder & { readonly path: string })[] {
  const marks = join(folder, MARKS_FOLDER);
  const paths = namesIn(marks).filter((name) => name.endsWith(".json"));
  return paths
    .map((name) => join(marks, name))
    .flatMap((path) => {
      const mark = readMarkAt(path);
      return mark === null ? [] : [{ ...mark, path }];
    });
}

/** Makes sure of a mark and tells the place. `E_IO`, `E_STORE_CORRUPT` */
export async function markPlace(target: string): Promise<string> {
  const known = readMark(target);
  if (known !== null) return known.placeId;
  return underTargetGuard(target, () => {
    const found = readMark(target);
    if (found !== null) return found.placeId;
    const placeId = randomUUID();
    writeMark(target, { placeId, ...NOBODY });
    return placeId;
  });
}

/** From now on nobody else renames anything there. `E_FENCING_MISMATCH` for who comes too late. */
export async function raiseMark(target: string, by: MarkHolder): Promise<void> {
  await underTargetGuard(target, () => {
    const mark = readMark(target);
    if (mark !== null && isComparable(mark, by)) {
      if (mark.fencingToken > by.fencingToken) throw overtaken(target, mark);
      if (mark.fencingToken === by.fencingToken) return;
    }
    writeMark(target, { placeId: mark?.placeId ?? randomUUID(), ...by });
  });
}

/** Under the guard. `E_FENCING_MISMATCH` when somebody else has begun to publish there. */
export function assertNotOvertaken(target: string, by: MarkHolder): void {
  const mark = readMark(target);
  if (mark === null || mark.store === NOBODY.store) return;
  if (!isComparable(mark, by) || mark.fencingToken > by.fencingToken) throw overtaken(target, mark);
}

function isComparable(mark: MarkHolder, by: MarkHolder): boolean {
  return mark.store === by.store && mark.tree === by.tree;
}

function overtaken(target: string, { tree, fencingToken }: MarkHolder): HoldfastError {
  return new HoldfastError(
    "E_FENCING_MISMATCH",
    `${target} was taken over: a publish has begun there under ${tree}, with token ${fencingToken}`,
    {
      details: { path: target, current: [fencingToken] },
      next: [
        "Stop: another publisher has taken over.",
        "If the store was restored from an older copy: holdfast doctor --after-restore",
      ],
    },
  );
}

/** Whether the place is one that this process sees. Without a mark, on the machine it was first seen on, it is. */
export function isHere({
  target,
  place,
}: {
  readonly target: string;
  readonly place?: { readonly id: string; readonly machine: string };
}): boolean {
  if (place === undefined) return true;
  const mark = readMark(target);
  return mark === null ? place.machine === thisMachine().machineId : mark.placeId === place.id;
}

/**
 * Runs `body`, which is synchronous, while nobody else of this machine renames anything to targets in the same folder.
 * Where that folder is gone there is nothing to keep. `E_STORE_UNAVAILABLE` when a process that was stopped keeps the guard.
 */
export async function underTargetGuard<T>(target: string, body: () => T, giveUpAfterMs?: number): Promise<T> {
  const parent = dirname(target);
  if (placeAt(parent) === "absent") return body();
  const folder = join(parent, MARKS_FOLDER);
  makeFolder(folder, parent);
  return underGuard(join(folder, "guard"), body, { makesFolder: false, giveUpAfterMs });
}

/** The mark must not be lost with a folder whose name was not on the disk yet. */
function makeFolder(folder: string, parent: string): void {
  if (isThere(folder)) return;
  try {
    makeHome(folder);
    syncFolder(parent);
  } catch (error) {
    throw ioError(error, "make", folder);
  }
}

function markPath(target: string): string {
  const name = createHash("sha256").update(basename(target)).digest("hex").slice(0, 32);
  return join(dirname(target), MARKS_FOLDER, `${name}.json`);
}

function readMark(target: string): Mark | null {
  return readMarkAt(markPath(target));
}

function readMarkAt(path: string): Mark | null {
  const text = textIfThere(path);
  if (text === null) return null;
  try {
    const { schema_version, place, store, tree, fencing_token } = JSON.parse(text) as MarkRecord;
    const isWhole = [place, store, tree].every((each) => typeof each === "string");
    if (schema_version === 1 && isWhole && Number.isSafeInteger(fencing_token))
      return { placeId: place, store, tree, fencingToken: fencing_token };
  } catch {
    // Told below.
  }
  throw new HoldfastError("E_STORE_CORRUPT", `${path} cannot be read: who has published last there is not known`, {
    details: { path },
    next: ["Make sure that nobody publishes there, then remove the file."],
  });
}

function writeMark(target: string, { placeId, store, tree, fencingToken }: Mark): void {
  const record: MarkRecord = {
    schema_version: 1,
    target: basename(target),
    place: placeId,
    store,
    tree,
    fencing_token: fencingToken,
  };
  replaceFile(markPath(target), Buffer.from(`${JSON.stringify(record)}\n`), true);
}
