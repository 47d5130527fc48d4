/** The board's files as they can be read by anybody: no lock, no store of locks, nothing created. */
import type { Documents, StoredDocument } from "../documents/documents.js";
import { documentPath } from "../documents/names.js";
import type { Clock } from "../support/clock.js";
import { type HoldfastError, isHoldfastError } from "../support/errors.js";
import { type IssueSummary, readIndex, summaryOf } from "./index-file.js";
import type { Issue, IssueValue } from "./issue.js";
import { requireIssue } from "./issue-shape.js";

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

  /** All issues as a list shows them. */
  async summaries(): Promise<ReadonlyMap<string, IssueSummary>> {
    return (this.documents.isSettled ? readIndex(this.dir) : null) ?? (await this.readAll());
  }

  /** From the issues themselves. One bad file does not hide all others; `tell` hears of it, and so does who shows it. */
  async readAll(tell: (id: string, error: HoldfastError) => void = () => undefined) {
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

function isUnreadable(error: unknown): error is HoldfastError {
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
  return { ...document.value, id: idOf(document.id), revision: document.revision };
}
