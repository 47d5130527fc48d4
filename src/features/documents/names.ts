/**
 * Checks the names of documents and logs, and returns the paths of their files. Capitals are encoded, so that `Foo` and
 * `foo` are two documents on every system, also where the file system takes the two names for one.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { invalidArgument, ioError } from "../../base/errors.js";
import { nameOfPlain, plainName } from "../../files/plain-name.js";

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
/** A folder of such a name would stand where the file of a document or a log belongs. */
const FILE_NAME = /\.jsonl?$/;
const MAX_SEGMENTS = 4;
/** With the endings that it may get, below the 255 bytes that file systems allow. */
const LONGEST_NAME = 200;

/** `E_INVALID_ARGUMENT` unless it is one to four plain names joined by `/`. */
export function checkName(name: string, field: string): string {
  const segments = typeof name === "string" ? name.split("/") : [];
  if (segments.length === 0 || segments.length > MAX_SEGMENTS || !segments.every((each) => SEGMENT.test(each)))
    throw invalidArgument(field, `${JSON.stringify(name)} is not made of 1 to ${MAX_SEGMENTS} plain names joined by /`);
  if (segments.slice(0, -1).some((folder) => FILE_NAME.test(folder)))
    throw invalidArgument(field, `${JSON.stringify(name)} has a folder that is named like a file`);
  if (segments.some((each) => plainName(each).length > LONGEST_NAME))
    throw invalidArgument(
      field,
      `${JSON.stringify(name)} is too long: a capital takes three bytes, of at most ${LONGEST_NAME}`,
    );
  return name;
}

export function documentPath(dir: string, id: string): string {
  return join(dir, `${encoded(id)}.json`);
}

export function logPath(dir: string, log: string): string {
  return join(dir, `${encoded(log)}.jsonl`);
}

function encoded(name: string): string {
  return name.split("/").map(plainName).join("/");
}

/** The store's own folder in it: guard and journal. Git is told to leave it alone. */
export function privateFolder(dir: string): string {
  return join(dir, ".journal");
}

/** Ids of the documents below a folder, sorted. Quarantined files and everything hidden are none. */
export function documentIds(dir: string, prefix: string): string[] {
  const ids: string[] = [];
  const visit = (folder: string, before: string): void => {
    for (const entry of entriesOf(folder)) {
      const isFolder = entry.isDirectory();
      if (!isFolder && !entry.name.endsWith(".json")) continue;
      const plain = isFolder ? entry.name : entry.name.slice(0, -".json".length);
      const name = nameOfPlain(plain);
      // mutant: documents-own-names: || plainName(name) !== plain) continue; → ) continue;
      if (!SEGMENT.test(name) || plainName(name) !== plain) continue;
      if (!isFolder) ids.push(before + name);
      else if (!FILE_NAME.test(name)) visit(join(folder, plain), `${before}${name}/`);
    }
  };
  visit(join(dir, encoded(prefix)), prefix === "" ? "" : `${prefix}/`);
  return ids.sort();
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw ioError(error, "list", folder);
  }
}
