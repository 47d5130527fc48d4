/**
 * The board: issues, what they depend on, the gates they must pass, and who works on them, in plain JSON files that any
 * number of agents change at once. What holds it together is told in board-store.ts, claims.ts and documents.ts.
 */
import { resolve } from "node:path";
import { Documents } from "../documents/documents.js";
import { changesOf } from "../documents/watch.js";
import type { Holdfast } from "../lease/holdfast.js";
import { invalidArgument } from "../support/errors.js";
import { BoardStore, type ChangeOptions } from "./board-store.js";
import {
  type Claimed,
  type ClaimOptions,
  candidatesFor,
  claim,
  claimNext,
  letGo,
  type NextOptions,
  release,
} from "./claims.js";
import { create } from "./create.js";
import { requireNoCycle } from "./dependencies.js";
import type { BoardEvent } from "./events.js";
import { type BoardExport, exportBoard } from "./export.js";
import type { Gate, GateRun, NewGate } from "./gate.js";
import { defineGate, judge, lastRun, listGates, requireGate, runGate } from "./gate-steps.js";
import { type Imported, type ImportFormat, importIssues } from "./import.js";
import type { IssueSummary } from "./index-file.js";
import {
  checkFields,
  type GateState,
  type Issue,
  type IssuePatch,
  type IssueState,
  isClosed,
  type NewIssue,
  notFound,
  parseGateName,
  parseIssueId,
} from "./issue.js";
import { checkQuery, type IssuePage, type IssueQuery, select } from "./query.js";
import { patched } from "./rules.js";

export type { ChangeOptions } from "./board-store.js";
export type { Claimed, ClaimOptions, NextOptions } from "./claims.js";
export type { BoardEvent, BoardEventName } from "./events.js";
export type { BoardExport } from "./export.js";
export type { Gate, GateRun, NewGate } from "./gate.js";
export type { Imported, ImportFormat } from "./import.js";
export type { IssueSummary } from "./index-file.js";
export type {
  Claim,
  GateState,
  GateStatus,
  Issue,
  IssuePatch,
  IssueState,
  IssueValue,
  NewIssue,
  Priority,
} from "./issue.js";
export type { IssuePage, IssueQuery, IssueSort } from "./query.js";

export interface WaitOptions {
  readonly signal?: AbortSignal;
}

/**
 * Changes throw `E_LOCK_CONFLICT` when somebody else has claimed the issue, `E_LOCK_EXPIRED` or `E_LOCK_NOT_HELD` when
 * the claim of the token is over, `E_NOT_FOUND`, `E_INVALID_ARGUMENT`, and what the documents throw.
 */
export class Board implements AsyncDisposable {
  readonly #store: BoardStore;

  /** @internal Use `openBoard`. */
  constructor(store: BoardStore) {
    this.#store = store;
  }

  get dir(): string {
    return this.#store.dir;
  }

  async add(fields: NewIssue): Promise<Issue> {
    checkFields(fields);
    if (fields.title === undefined) throw invalidArgument("title", "some words");
    return create(this.#store, fields);
  }

  /** The issue as it is now. Takes no lock. `E_NOT_FOUND`, `E_STORE_CORRUPT`, `E_FORMAT_UNSUPPORTED`. */
  async get(id: string): Promise<Issue> {
    const issue = await this.#store.read(parseIssueId(id));
    if (issue === null) throw notFound("issue", parseIssueId(id));
    return issue;
  }

  /** Issues a page at a time. Takes no lock and creates no files. */
  async list(query: IssueQuery = {}): Promise<IssuePage> {
    checkQuery(query);
    const issues = await this.#store.summaries();
    const found = query.text === undefined ? null : await this.#withText(issues, query.text.toLowerCase());
    return select(issues, query, ({ id }) => found === null || found.has(id));
  }

  /** `E_GATE_BLOCKED` when it would be done before its dependencies and gates, `E_REVISION_CONFLICT`. */
  async update(id: string, patch: IssuePatch, options: ChangeOptions = {}): Promise<Issue> {
    checkFields(patch);
    return this.#store.change(parseIssueId(id), "updated", options, (issue, tx) =>
      patched(this.#store, tx, issue, patch),
    );
  }

  /** Done, or rejected; a claim given with its token is released. `E_GATE_BLOCKED`, listing what is in the way. */
  async close(id: string, options: ChangeOptions & { readonly state?: "done" | "rejected" } = {}): Promise<Issue> {
    const { state = "done", token } = options;
    if (state !== "done" && state !== "rejected") throw invalidArgument("state", "done or rejected");
    const closed = await this.#store.change(parseIssueId(id), "closed", options, (issue, tx) =>
      patched(this.#store, tx, issue, { state }),
    );
    if (token !== undefined) await letGo(this.#store, closed.id, token);
    return closed;
  }

  /** `E_CYCLE` naming the cycle it would close; `E_NOT_FOUND`. */
  async addDependency(id: string, on: string, options: ChangeOptions = {}): Promise<Issue> {
    const [from, to] = [parseIssueId(id), parseIssueId(on, "on")];
    return this.#store.change(from, "dependency_added", options, (issue, tx) => {
      this.#store.require(tx, to);
      if (issue.dependencies.includes(to)) return issue;
      requireNoCycle(from, to, (each) => this.#store.find(tx, each)?.dependencies ?? null);
      return { ...issue, dependencies: [...issue.dependencies, to] };
    });
  }

  async removeDependency(id: string, on: string, options: ChangeOptions = {}): Promise<Issue> {
    const to = parseIssueId(on, "on");
    return this.#store.change(parseIssueId(id), "dependency_removed", options, (issue) => ({
      ...issue,
      dependencies: issue.dependencies.filter((each) => each !== to),
    }));
  }

  /** Takes the lease on `issue:ID` and puts the caller's name on it. `E_LOCK_CONFLICT`, `E_LOCK_TIMEOUT`. */
  async claim(id: string, options: ClaimOptions = {}): Promise<Claimed> {
    return claim(this.#store, parseIssueId(id), options);
  }

  /** The best issue that can be begun, claimed in one step; null when there is none. */
  async claimNext(options: NextOptions = {}): Promise<Claimed | null> {
    return claimNext(this.#store, options);
  }

  /** What `claimNext` would take now. Takes no lock. */
  async next(options: NextOptions = {}): Promise<IssueSummary | null> {
    return (await candidatesFor(this.#store, options))[0] ?? null;
  }

  /** Gives a claim back; the issue is `ready` again unless another state is given. */
  async release(id: string, options: ChangeOptions & { readonly state?: IssueState }): Promise<Issue> {
    checkFields(options.state === undefined ? {} : { state: options.state });
    return release(this.#store, parseIssueId(id), options);
  }

  /** Resolves when the issue has one of these states; without any, when it is closed. Rejects with the signal's reason. */
  async wait(id: string, states: readonly IssueState[] = [], { signal }: WaitOptions = {}): Promise<Issue> {
    const isThere = (issue: Issue): boolean => (states.length === 0 ? isClosed(issue) : states.includes(issue.state));
    return this.#until(id, isThere, signal);
  }

  async defineGate(gate: NewGate): Promise<Gate> {
    return defineGate(this.#store, gate);
  }

  async gates(): Promise<readonly Gate[]> {
    return listGates(this.#store);
  }

  /** A word on a manual gate. `E_FORBIDDEN` for an automatic one. */
  async passGate(id: string, gate: string, options: ChangeOptions & { readonly note?: string } = {}): Promise<Issue> {
    return judge(this.#store, parseIssueId(id), parseGateName(gate), "passed", options);
  }

  async failGate(id: string, gate: string, options: ChangeOptions & { readonly note?: string } = {}): Promise<Issue> {
    return judge(this.#store, parseIssueId(id), parseGateName(gate), "failed", options);
  }

  /** Runs an automatic gate's command outside of every lock, and records its verdict and output. */
  async runGate(
    id: string,
    gate: string,
    options: ChangeOptions = {},
  ): Promise<{ readonly issue: Issue; readonly run: GateRun }> {
    return runGate(this.#store, parseIssueId(id), parseGateName(gate), options);
  }

  async lastRun(id: string, gate: string): Promise<GateRun | null> {
    return lastRun(this.#store, parseIssueId(id), parseGateName(gate));
  }

  /** Resolves when the gate has been passed or failed. */
  async waitForGate(id: string, gate: string, { signal }: WaitOptions = {}): Promise<GateState> {
    const name = parseGateName(gate);
    const stateOf = (issue: Issue): GateState | undefined => issue.gates[name];
    const issue = await this.#until(id, (each) => stateOf(each)?.status !== "pending", signal);
    requireGate(issue, name);
    return stateOf(issue) ?? { status: "pending", at: null, by: null, note: null };
  }

  /** What has happened behind this number, oldest first. */
  async events({ after = 0 }: { readonly after?: number } = {}): Promise<readonly BoardEvent[]> {
    return (await this.#store.documents.log("events", { after })) as readonly BoardEvent[];
  }

  /** The board after every change of anything on it, as the number of its last event; the present one at once. */
  watch({ signal }: WaitOptions = {}): AsyncIterableIterator<number> {
    return changesOf(
      this.dir,
      () => this.#store.documents.lastSeq("events"),
      (seq) => seq,
      signal,
    );
  }

  /** Issues of another tool's file, all in one step; those imported before are left as they are. `E_CYCLE`. */
  async import(text: string, format: ImportFormat): Promise<Imported> {
    return importIssues(this.#store, text, format);
  }

  async export(): Promise<BoardExport> {
    return exportBoard(this.#store);
  }

  /** Reads every issue and takes a new `index.json` from them; for when files were changed by other hands. */
  async rebuildIndex(): Promise<number> {
    return this.#store.rebuildIndex();
  }

  /** Lets the files go. What is claimed stays claimed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.documents.close();
  }

  async #until(id: string, isThere: (issue: Issue) => boolean, signal: AbortSignal | undefined): Promise<Issue> {
    const known = parseIssueId(id);
    const looks = changesOf(
      this.dir,
      () => this.get(known),
      (issue) => issue.revision,
      signal,
    );
    for await (const issue of looks) if (isThere(issue)) return issue;
    throw signal?.reason;
  }

  async #withText(issues: ReadonlyMap<string, IssueSummary>, text: string): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const { id, title } of issues.values()) {
      const isInTitle = title.toLowerCase().includes(text);
      const issue = isInTitle ? null : await this.#store.read(id).catch(() => null);
      if (isInTitle || issue?.description.toLowerCase().includes(text)) found.add(id);
    }
    return found;
  }
}

/** Opens the board in a folder (`<root>/.holdfast/board`). Claims are leases of `holdfast`. Nothing is created yet. */
export function openBoard(holdfast: Holdfast, dir: string): Board {
  if (typeof dir !== "string" || dir === "") throw invalidArgument("dir", "a path");
  const documents = new Documents(resolve(dir), holdfast.home.clock);
  return new Board(new BoardStore(documents, holdfast));
}
