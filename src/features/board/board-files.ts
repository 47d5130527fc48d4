/** Reads the files of the board as any program may: it acquires no lock, opens no store of locks, and creates nothing. */
import { type HoldfastError, isHoldfastError } from "../../base/errors.js";
import type { Clock } from "../../platform/clock.js";
import { isThere } from "../../platform/look-up.js";
import type { Documents, StoredDocument } from "../documents/documents.js";
import { documentPath } from "../documents/names.js";
import { type IssueSummary, readIndex, summaryOf } from "./index-file.js";
import type { Issue, IssueValue } from "./issue.js";
import { requireIssue } from "./issue-shape.js";

export type TellUnreadable = (id: string, error: HoldfastError) => void;

export class BoardFiles {
  readonly dir: string;
  readonly documents: Documents;
  readonly #clock: Clock;

  constructor(documents: Documents, clock: Clock) {
    this.dir = documents.dir;
    this.documents = documents;
    this.#clock = clock;
  }

  now(): string {
    return new Date(this.#clock().wallMs).toISOString();
  }

  async read(id: string): Promise<Issue | null> {
    return issueOf(await this.documents.get<IssueValue>(issueDocument(id)), this.dir);
  }

  /**
   * All issues as a list shows them. The index is not believed when it lacks one that has a file, or has one more: a merge
   * has brought or taken it. The files are listed first, so what is made meanwhile is in the index too.
   */
  async summaries(tell?: TellUnreadable): Promise<ReadonlyMap<string, IssueSummary>> {
    const ids = (await this.documents.list("issues")).map(idOf);
    const index = this.documents.isSettled ? readIndex(this.dir) : null;
    // mutant: board-index-files: this.#isOfFiles(index, ids) ? index : this. → ids.length >= 0 ? index : this.
    return index !== null && this.#isOfFiles(index, ids) ? index : this.readAll(tell);
  }

  #isOfFiles(index: ReadonlyMap<string, IssueSummary>, ids: readonly string[]): boolean {
    const known = new Set(ids);
    return ids.every((id) => index.has(id)) && [...index.keys()].every((id) => known.has(id) || this.isTaken(id));
  }

  /** Whether a file has this id, readable or not. */
  isTaken(id: string): boolean {
    return isThere(documentPath(this.dir, issueDocument(id)));
  }

  /** From the issues themselves. One bad file does not hide all others; `tell` hears of it, and so does who shows it. */
  async readAll(tell: TellUnreadable = () => undefined): Promise<ReadonlyMap<string, IssueSummary>> {
    const issues = new Map<string, IssueSummary>();
    for (const document of await this.documents.list("issues")) {
      const id = idOf(document);
      try {
        const issue = await this.read(id);
        if (issue !== null) issues.set(id, summaryOf(issue));
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        tell(id, error);
      }
    }
    return issues;
  }
}

/** Whether it says that a document cannot be read, or not by this version. */
export function isUnreadable(error: unknown): error is HoldfastError {
  return isHoldfastError(error, "E_STORE_CORRUPT") || isHoldfastError(error, "E_FORMAT_UNSUPPORTED");
}

function idOf(document: string): string {
  return document.slice("issues/".length);
}

export function issueDocument(id: string): string {
  return `issues/${id}`;
}

/**
 * `E_STORE_CORRUPT` for what is no issue. Its id is the name of its file, whatever stands inside: that is what others mean
 * by it and what its claim locks, and a copy of a file must not be written over what it was copied from.
 */
export function issueOf(document: StoredDocument<IssueValue> | null, dir: string): Issue | null {
  if (document === null) return null;
  requireIssue(document.value, documentPath(dir, document.id));
  // mutant: board-file-name: id: idOf(document.id), revision: document.revision → revision: document.revision
  return { ...document.value, id: idOf(document.id), revision: document.revision };
}
