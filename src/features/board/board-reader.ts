/** Answers the queries on a board that need no store of locks: no lock is acquired, nothing is created. */
import { basename, dirname, resolve } from "node:path";
import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { invalidArgument } from "../../base/errors.js";
import { HOME } from "../../base/home-folder.js";
import { requireFolder } from "../../files/required-folder.js";
import { createSystemClock } from "../../platform/clock.js";
import { Documents } from "../documents/documents.js";
import { changesOf } from "../documents/watch.js";
import { BoardFiles } from "./board-files.js";
import type { BoardEvent } from "./events.js";
import { type BoardExport, exportBoard } from "./export.js";
import type { Gate, GateRun } from "./gates/gate.js";
import { lastRun, listGates, requireGate } from "./gates/gate-files.js";
import { compareIds, type IssueSummary } from "./index-file.js";
import {
  type GateState,
  type Issue,
  type IssueState,
  isClosed,
  notFound,
  parseGateName,
  parseIssueId,
} from "./issue.js";
import { checkQuery, type IssuePage, type IssueQuery, select } from "./query.js";

export interface WaitOptions {
  readonly signal?: AbortSignal;
}

const WAIT: OptionNames<WaitOptions> = { signal: true };
const EVENTS: OptionNames<{ readonly after?: number }> = { after: true };

export class BoardReader implements AsyncDisposable {
  readonly #files: BoardFiles;

  /** @internal Use `openBoardReader` or `openBoard`. */
  constructor(files: BoardFiles) {
    this.#files = files;
  }

  get dir(): string {
    return this.#files.dir;
  }

  /** The issue as it is now. Takes no lock. `E_NOT_FOUND`, `E_STORE_CORRUPT`, `E_FORMAT_UNSUPPORTED`. */
  async get(id: string): Promise<Issue> {
    const issue = await this.#files.read(parseIssueId(id));
    if (issue === null) throw notFound("issue", parseIssueId(id));
    return issue;
  }

  /** Issues a page at a time. Takes no lock and creates no files. */
  async list(query: IssueQuery = {}): Promise<IssuePage> {
    checkQuery(query);
    const unreadable: string[] = [];
    const issues = await this.#files.summaries((id) => unreadable.push(id));
    const found = query.text === undefined ? null : await this.#withText(issues, query.text.toLowerCase());
    const page = select(issues, query, ({ id }) => found === null || found.has(id));
    return { ...page, unreadable: unreadable.sort(compareIds) };
  }

  /** Resolves when the issue has one of these states; without any, when it is closed. Rejects with the signal's reason. */
  async wait(id: string, states: readonly IssueState[] = [], options: WaitOptions = {}): Promise<Issue> {
    checkOptions(options, WAIT);
    const isThere = (issue: Issue): boolean => (states.length === 0 ? isClosed(issue) : states.includes(issue.state));
    return this.#until(id, isThere, options.signal);
  }

  async gates(): Promise<readonly Gate[]> {
    return listGates(this.#files);
  }

  async lastRun(id: string, gate: string): Promise<GateRun | null> {
    return lastRun(this.#files, parseIssueId(id), parseGateName(gate));
  }

  /** Resolves when the gate has been passed or failed. */
  async waitForGate(id: string, gate: string, options: WaitOptions = {}): Promise<GateState> {
    checkOptions(options, WAIT);
    const name = parseGateName(gate);
    const stateOf = (issue: Issue): GateState | undefined => issue.gates[name];
    const issue = await this.#until(id, (each) => stateOf(each)?.status !== "pending", options.signal);
    requireGate(issue, name);
    return stateOf(issue) ?? { status: "pending", at: null, by: null, note: null };
  }

  /** What has happened behind this number, oldest first. */
  async events(options: { readonly after?: number } = {}): Promise<readonly BoardEvent[]> {
    checkOptions(options, EVENTS);
    const { after = 0 } = options;
    return (await this.#files.documents.log("events", { after })) as readonly BoardEvent[];
  }

  /** The board after every change of anything on it, as the number of its last event; the present one at once. */
  watch(options: WaitOptions = {}): AsyncIterableIterator<number> {
    checkOptions(options, WAIT);
    return changesOf(
      this.dir,
      () => this.#files.documents.lastSeq("events"),
      (seq) => seq,
      options.signal,
    );
  }

  async export(): Promise<BoardExport> {
    return exportBoard(this.#files);
  }

  /** Lets the files go. What is claimed stays claimed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#files.documents.close();
  }

  async #until(id: string, isThere: (issue: Issue) => boolean, signal: AbortSignal | undefined): Promise<Issue> {
    const known = parseIssueId(id);
    const looks = changesOf(
      this.dir,
      () => this.get(known),
      // mutant: wait-by-revision: (issue) => JSON.stringify(issue) → (issue) => issue.revision
      (issue) => JSON.stringify(issue),
      signal,
    );
    for await (const issue of looks) if (isThere(issue)) return issue;
    throw signal?.reason;
  }

  async #withText(issues: ReadonlyMap<string, IssueSummary>, text: string): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const { id, title } of issues.values()) {
      const isInTitle = title.toLowerCase().includes(text);
      const issue = isInTitle ? null : await this.#files.read(id).catch(() => null);
      if (isInTitle || issue?.description.toLowerCase().includes(text)) found.add(id);
    }
    return found;
  }
}

/** The folder of a board may be missing, and the `.holdfast/` around it. `E_INVALID_ARGUMENT` when more is. */
export function boardFolder(dir: string): string {
  if (typeof dir !== "string" || dir === "") throw invalidArgument("dir", "a path");
  const folder = resolve(dir);
  const around = dirname(folder);
  requireFolder(basename(around) === HOME ? dirname(around) : around, "dir");
  return folder;
}

/** Opens a board to look at it. */
export function openBoardReader(dir: string): BoardReader {
  const clock = createSystemClock();
  return new BoardReader(new BoardFiles(new Documents(boardFolder(dir), clock), clock));
}
