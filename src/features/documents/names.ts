/** Checks the names of documents and logs, and returns the paths of their files. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { invalidArgument, ioError } from "../../base/errors.js";

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
/** A folder of such a name would stand where the file of a document or a log belongs. */
const FILE_NAME = /\.jsonl?$/;
const MAX_SEGMENTS = 4;

/** `E_INVALID_ARGUMENT` unless it is one to four plain names joined by `/`. */
export function checkName(name: string, field: string): string {
  const segments = typeof name === "string" ? name.split("/") : [];
  if (segments.length === 0 || segments.length > MAX_SEGMENTS || !segments.every((each) => SEGMENT.test(each)))
    throw invalidArgument(field, `${JSON.stringify(name)} is not made of 1 to ${MAX_SEGMENTS} plain names joined by /`);
  if (segments.slice(0, -1).some((folder) => FILE_NAME.test(folder)))
    throw invalidArgument(field, `${JSON.stringify(name)} has a folder that is named like a file`);
  return name;
}

export function documentPath(dir: string, id: string): string {
  return join(dir, `${id}.json`);
}

export function logPath(dir: string, log: string): string {
  return join(dir, `${log}.jsonl`);
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
      if (!SEGMENT.test(entry.name)) continue;
      if (entry.isDirectory()) {
        if (!FILE_NAME.test(entry.name)) visit(join(folder, entry.name), `${before}${entry.name}/`);
      } else if (entry.name.endsWith(".json")) ids.push(before + entry.name.slice(0, -".json".length));
    }
  };
  visit(join(dir, prefix), prefix === "" ? "" : `${prefix}/`);
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
