/**
 * `holdfast doctor --after-restore`: a store that was restored from a copy may be behind numbers that its lost history gave
 * out. They are in marks outside of it: beside targets of publishes, and in databases that `openDal` writes to. A mark above
 * the store's counter refuses every publish and write there. So the counters are raised above the marks.
 *
 *   1. all marks are read: below the workspace, beside the targets on record, in the folders and databases that are named
 *   2. tree by tree, where a mark is higher than the counter: the counter is raised, durably, with its audit entry
 *
 * A crash between two trees leaves the others as they were; the next run raises them. A mark that cannot be read stops it
 * before 2. No mark is changed. So what holds a number of the lost history stays refused once the next publisher or writer
 * leaves its own, and a grant that is older than this is refused there already: its holder acquires it again.
 *
 * It does not find marks in folders and databases that are not named, and does not know whether the lost server lives.
 */
import { readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { withoutPassword } from "../../base/without-password.js";
import { openForeignRows } from "../../client/kernel.js";
import type { Workspace } from "../../features/configuration.js";
import { manifestsHere } from "../../features/publish/record/manifests-here.js";
import { MARKS_FOLDER, marksIn } from "../../files/target-mark.js";
import type { Key } from "../../lock/key.js";
import { isPerson } from "../../lock/owner.js";
import { fenceAt } from "../../lock/time.js";
import { createSystemClock } from "../../platform/clock.js";
import { isThere } from "../../platform/look-up.js";
import type { Store } from "../../store/contract.js";
import { withSurgery } from "./surgery.js";

/** Never entered: they are large, and nothing is published into them. */
const SKIPPED: ReadonlySet<string> = new Set([".git", ".holdfast", "node_modules"]);
/** A number this far ahead of the clock is damage; a counter that followed it would soon have no numbers left. */
const MOST_AHEAD = 366 * 86_400_000_000;

export interface RestoreOptions {
  /** Folders outside of the workspace in which targets lie. */
  readonly targets?: readonly string[];
  /** As `openDal` has them. */
  readonly databases?: readonly string[];
}

export interface RestoreReport {
  /** Marks that were compared. */
  readonly marks: number;
  readonly raised: readonly RaisedTree[];
}

interface RaisedTree {
  readonly tree: string;
  /** The highest mark and where it is, the counter before, and the number that was minted above it. */
  readonly mark: number;
  readonly where: string;
  readonly from: number;
  readonly to: number;
}

interface Found {
  readonly tree: string;
  readonly token: number;
  readonly where: string;
}

/** `E_FORBIDDEN` for an owner that is not a person, `E_STORE_CORRUPT`, `E_IO`, `E_NOT_FOUND` */
export async function raiseAfterRestore(workspace: Workspace, options: RestoreOptions = {}): Promise<RestoreReport> {
  // mutant: restore-by-a-person: if (!isPerson(workspace.owner)) → if (workspace.owner === "")
  if (!isPerson(workspace.owner))
    throw new HoldfastError("E_FORBIDDEN", `${workspace.owner} may not raise fences: only a user or an admin may`);
  return withSurgery(workspace, async ({ store, party }) => {
    const found = [...(await marksOfTargets(store, workspace, options)), ...(await marksOfDatabases(options))];
    const latest = fenceAt(createSystemClock()()) + MOST_AHEAD;
    for (const { token, where } of found) if (token > latest) throw tooFar(where, token);
    const raised: RaisedTree[] = [];
    for (const { tree, token, where } of highestByTree(found)) {
      const { fencingToken: from } = await store.reader.inspect(tree as Key);
      // mutant: restore-raises: if (token > from) → if (token < from)
      if (token > from)
        raised.push({ tree, mark: token, where, from, to: await store.upkeep.raiseFence(tree as Key, token, party) });
    }
    return { marks: found.length, raised };
  });
}

async function marksOfTargets(store: Store, { root }: Workspace, { targets = [] }: RestoreOptions): Promise<Found[]> {
  const folders = new Set<string>();
  for (const folder of root === null ? targets : [root, ...targets]) addMarkedFolders(resolve(folder), folders);
  for await (const { target } of manifestsHere(store.manifests)) folders.add(dirname(target));
  const marks = [...folders].flatMap(marksIn).filter((mark) => mark.store === store.id);
  return marks.map(({ tree, fencingToken, path }) => ({ tree, token: fencingToken, where: path }));
}

/** A folder that may not be read is `E_IO`: what it holds is unknown. */
function addMarkedFolders(folder: string, found: Set<string>): void {
  let entries: ReturnType<typeof entriesOf>;
  try {
    entries = entriesOf(folder);
  } catch (error) {
    throw ioError(error, "list", folder);
  }
  for (const entry of entries) {
    if (!entry.isDirectory() || SKIPPED.has(entry.name)) continue;
    if (entry.name === MARKS_FOLDER) found.add(folder);
    else addMarkedFolders(join(folder, entry.name), found);
  }
}

function entriesOf(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}

async function marksOfDatabases({ databases = [] }: RestoreOptions): Promise<Found[]> {
  const found: Found[] = [];
  for (const url of databases) {
    const path = url.startsWith("sqlite:") ? resolve(url.slice("sqlite:".length)) : null;
    // Opening would make it.
    if (path !== null && !isThere(path)) throw new HoldfastError("E_NOT_FOUND", `there is no database ${path}`);
    const rows = await openForeignRows(url);
    try {
      const where = withoutPassword(url);
      for (const [tree, token] of await rows.highest()) found.push({ tree, token, where });
    } finally {
      rows.close();
    }
  }
  return found;
}

function highestByTree(found: readonly Found[]): readonly Found[] {
  const highest = new Map<string, Found>();
  for (const each of found) if (each.token > (highest.get(each.tree)?.token ?? 0)) highest.set(each.tree, each);
  return [...highest.values()];
}

function tooFar(where: string, token: number): HoldfastError {
  return new HoldfastError(
    "E_STORE_CORRUPT",
    `the number ${token} in ${where} is more than a year ahead of the clock`,
    {
      details: { path: where },
      next: [
        "Check the clock of this machine. If it is right, make sure that nothing publishes there and remove the mark.",
      ],
    },
  );
}
