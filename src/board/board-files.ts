/** The board's files as they can be read by anybody: no lock, no store of locks, nothing created. */
import type { Documents } from "../documents/documents.js";
import type { Clock } from "../support/clock.js";
import { HoldfastError } from "../support/errors.js";
import { type IssueSummary, readIndex, summaryOf } from "./index-file.js";
import type { Issue, IssueValue } from "./issue.js";

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
    return issueOf(await this.documents.get<IssueValue>(issueDocument(id)));
  }

  /** All issues as a list shows them. */
  async summaries(): Promise<ReadonlyMap<string, IssueSummary>> {
    return (this.documents.isSettled ? readIndex(this.dir) : null) ?? (await this.readAll());
  }

  /** From the issues themselves. */
  async readAll(): Promise<Map<string, IssueSummary>> {
    const issues = new Map<string, IssueSummary>();
    for (const document of await this.documents.list("issues")) {
      const issue = await this.read(document.slice("issues/".length)).catch(skipUnreadable);
      if (issue !== null) issues.set(issue.id, summaryOf(issue));
    }
    return issues;
  }
}

/** One bad file does not hide all others; `show` tells what is wrong with it. */
function skipUnreadable(error: unknown): null {
  if (error instanceof HoldfastError && (error.code === "E_STORE_CORRUPT" || error.code === "E_FORMAT_UNSUPPORTED"))
    return null;
  throw error;
}

export function issueDocument(id: string): string {
  return `issues/${id}`;
}

export function issueOf(document: { readonly revision: number; readonly value: IssueValue } | null): Issue | null {
  return document === null ? null : { ...document.value, revision: document.revision };
}
