/**
 * Finds what is wrong with a board, and changes nothing. The index is compared with the issues themselves; a difference
 * counts when it is still there while no change is under way.
 */
import type { Clock } from "../../platform/clock.js";
import { isThere } from "../../platform/look-up.js";
import { decodeDocument, readText } from "../documents/document-file.js";
import { Documents } from "../documents/documents.js";
import { examineDocuments, isUnsettled, whileQuiet } from "../documents/examine.js";
import { documentPath } from "../documents/names.js";
import { BoardFiles, issueDocument, issueOf } from "./board-files.js";
import { type IssueSummary, readIndex, summaryOf } from "./index-file.js";
import type { IssueValue } from "./issue.js";

export interface BoardFault {
  readonly kind: "unsettled" | "quarantined" | "unreadable" | "newer" | "index";
  readonly path: string;
  readonly problem: string;
}

/** Nothing is wrong where there is none. */
export async function examineBoard(dir: string, clock: Clock): Promise<readonly BoardFault[]> {
  if (!isThere(dir)) return [];
  // An index that cannot be read is no loss: it is a picture, and told as such.
  const faults = examineDocuments(dir).filter(({ kind, id }) => kind !== "unreadable" || id !== "index");
  if (await isUnsettled(dir, clock))
    return [...faults, { kind: "unsettled", path: dir, problem: "a change was made and is not in its files yet" }];
  if (faults.some(({ id }) => id === "index")) return faults; // A newer one.
  const files = new BoardFiles(new Documents(dir, clock), clock);
  const skip = new Set(faults.flatMap(({ id }) => (id === null ? [] : [id.replace(/^issues\//, "")])));
  const issues = await files.readAll((id, { message }) => {
    if (skip.has(id)) return;
    skip.add(id);
    const document = issueDocument(id);
    faults.push({ kind: "unreadable", id: document, path: documentPath(dir, document), problem: message });
  });
  const problem = await wrongIndex(files, issues, skip);
  return problem === null ? faults : [...faults, { kind: "index", path: documentPath(dir, "index"), problem }];
}

async function wrongIndex(
  files: BoardFiles,
  issues: ReadonlyMap<string, IssueSummary>,
  skip: ReadonlySet<string>,
): Promise<string | null> {
  // A board without events has no index: the first change makes both.
  if ((await files.documents.lastSeq("events")) === 0) return null;
  const { dir } = files;
  const index = readIndex(dir);
  const ids = new Set([...(index?.keys() ?? []), ...issues.keys()]);
  const suspects = [...ids].filter((id) => !skip.has(id) && differs(index?.get(id), issues.get(id)));
  if (index !== null && suspects.length === 0) return null;
  return whileQuiet(dir, () => {
    const now = readIndex(dir);
    if (now === null) return "it is missing, or not of these events";
    const wrong = suspects.filter((id) => differs(now.get(id), summaryIn(dir, id)));
    if (wrong.length === 0) return null;
    const some = wrong.slice(0, 5).join(", ") + (wrong.length > 5 ? ", …" : "");
    return `it shows ${wrong.length} of the issues otherwise than their own files: ${some}`;
  });
}

function differs(one: IssueSummary | undefined, other: IssueSummary | undefined): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

/** As its file has it now. */
function summaryIn(dir: string, id: string): IssueSummary | undefined {
  const path = documentPath(dir, issueDocument(id));
  const content = readText(path);
  const issue = content === null ? null : issueOf(decodeDocument<IssueValue>(issueDocument(id), content, path), dir);
  return issue === null ? undefined : summaryOf(issue);
}
