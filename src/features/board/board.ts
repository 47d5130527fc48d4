/**
 * The board: issues, their dependencies, the gates they must pass, and their claims, in plain JSON files that any
 * number of agents change at once. The headers of board-store.ts, claims.ts and documents.ts have its protocols.
 */
import { checkOptions } from "../../base/check-options.js";
import { invalidArgument } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { Holdfast } from "../../client/holdfast.js";
import { kernelOf } from "../../client/kernel.js";
import { Documents } from "../documents/documents.js";
import { BoardReader, boardFolder } from "./board-reader.js";
import { BoardStore, CHANGE, type ChangeOptions, END, type EndOptions } from "./board-store.js";
import {
  CLAIM,
  type Claimed,
  type ClaimOptions,
  candidatesFor,
  claim,
  claimNext,
  letGo,
  NEXT,
  type NextOptions,
  release,
} from "./claims.js";
import { create } from "./create.js";
import { requireNoCycle } from "./dependencies.js";
import { GATE, type Gate, type GateRun, type NewGate } from "./gates/gate.js";
import { defineGate, JUDGE, type JudgeOptions, judge, RUN, type RunOptions, runGate } from "./gates/gate-steps.js";
import { type Imported, type ImportFormat, importIssues } from "./import/import.js";
import type { IssueSummary } from "./index-file.js";
import {
  checkFields,
  checkPatch,
  type Issue,
  type IssuePatch,
  type IssueState,
  NEW_ISSUE,
  type NewIssue,
  notFound,
  parseGateName,
  parseIssueId,
} from "./issue.js";
import { patched } from "./rules.js";

export { BoardReader, openBoardReader, type WaitOptions } from "./board-reader.js";
export type { ChangeOptions, EndOptions } from "./board-store.js";
export type { Claimed, ClaimOptions, NextOptions } from "./claims.js";
export type { BoardEvent, BoardEventName } from "./events.js";
export type { BoardExport } from "./export.js";
export type { Gate, GateRun, NewGate } from "./gates/gate.js";
export type { RunOptions } from "./gates/gate-steps.js";
export type { Imported, ImportFormat } from "./import/import.js";
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

/**
 * Changes throw `E_LOCK_CONFLICT` when somebody else has claimed the issue, `E_LOCK_EXPIRED` or `E_LOCK_NOT_HELD` when
 * the claim of the token is over, `E_NOT_FOUND`, `E_INVALID_ARGUMENT`, and what the documents throw.
 */
export class Board extends BoardReader {
  readonly #store: BoardStore;

  /** @internal Use `openBoard`. */
  constructor(store: BoardStore) {
    super(store);
    this.#store = store;
  }

  async add(fields: NewIssue): Promise<Issue> {
    checkOptions(fields, NEW_ISSUE, "fields");
    checkFields(fields);
    if (fields.title === undefined) throw invalidArgument("title", "some words");
    return create(this.#store, fields);
  }

  /** `E_GATE_BLOCKED` when it would be done before its dependencies and gates, `E_REVISION_CONFLICT`. */
  async update(id: string, patch: IssuePatch, options: ChangeOptions = {}): Promise<Issue> {
    checkPatch(patch);
    checkOptions(options, CHANGE);
    return this.#store.change(parseIssueId(id), "updated", options, (issue, tx) =>
      patched(this.#store, tx, issue, patch),
    );
  }

  /** Done, or rejected; a claim given with its token is released. `E_GATE_BLOCKED`, listing what is in the way. */
  async close(id: string, options: EndOptions<"done" | "rejected"> = {}): Promise<Issue> {
    checkOptions(options, END);
    const { state = "done", token, patch = {} } = options;
    checkPatch(patch);
    if (state !== "done" && state !== "rejected") throw invalidArgument("state", "done or rejected");
    const closed = await this.#store.change(parseIssueId(id), "closed", options, (issue, tx) =>
      patched(this.#store, tx, issue, { ...patch, state }),
    );
    if (token !== undefined) await letGo(this.#store, closed.id, token);
    return closed;
  }

  /** `E_CYCLE` naming the cycle it would close; `E_NOT_FOUND`. */
  async addDependency(id: string, on: string, options: ChangeOptions = {}): Promise<Issue> {
    checkOptions(options, CHANGE);
    const [from, to] = [parseIssueId(id), parseIssueId(on, "on")];
    return this.#store.change(from, "dependency_added", options, (issue, tx) => {
      if (this.#store.find(tx, to) === null) throw notFound("issue", to);
      if (issue.dependencies.includes(to)) return issue;
      // mutant: board-cycle: requireNoCycle(from, to, (each) => this.#store.find(tx, each)?.dependencies ?? null); →
      requireNoCycle(from, to, (each) => this.#store.find(tx, each)?.dependencies ?? null);
      return { ...issue, dependencies: [...issue.dependencies, to] };
    });
  }

  async removeDependency(id: string, on: string, options: ChangeOptions = {}): Promise<Issue> {
    checkOptions(options, CHANGE);
    const to = parseIssueId(on, "on");
    return this.#store.change(parseIssueId(id), "dependency_removed", options, (issue) => ({
      ...issue,
      dependencies: issue.dependencies.filter((each) => each !== to),
    }));
  }

  /** Takes the lease on `issue:ID` and puts the caller's name on it. `E_LOCK_CONFLICT`, `E_LOCK_TIMEOUT`. */
  async claim(id: string, options: ClaimOptions = {}): Promise<Claimed> {
    checkOptions(options, CLAIM);
    return claim(this.#store, parseIssueId(id), options);
  }

  /** The best issue that can be begun, claimed in one step; null when there is none. */
  async claimNext(options: NextOptions = {}): Promise<Claimed | null> {
    checkOptions(options, NEXT);
    return claimNext(this.#store, options);
  }

  /** What `claimNext` would take now. Takes no lock. */
  async next(options: NextOptions = {}): Promise<IssueSummary | null> {
    checkOptions(options, NEXT);
    return (await candidatesFor(this.#store, options))[0] ?? null;
  }

  /** Gives a claim back; the issue is `ready` again unless another state is given. `E_GATE_BLOCKED` as for `update`. */
  async release(id: string, options: EndOptions<IssueState>): Promise<Issue> {
    checkOptions(options, END);
    checkPatch({ ...options.patch, ...given({ state: options.state }) });
    return release(this.#store, parseIssueId(id), options);
  }

  async defineGate(gate: NewGate): Promise<Gate> {
    checkOptions(gate, GATE, "gate");
    return defineGate(this.#store, gate);
  }

  /** A word on a manual gate. `E_FORBIDDEN` for an automatic one. */
  async passGate(id: string, gate: string, options: JudgeOptions = {}): Promise<Issue> {
    checkOptions(options, JUDGE);
    return judge(this.#store, parseIssueId(id), parseGateName(gate), "passed", options);
  }

  async failGate(id: string, gate: string, options: JudgeOptions = {}): Promise<Issue> {
    checkOptions(options, JUDGE);
    return judge(this.#store, parseIssueId(id), parseGateName(gate), "failed", options);
  }

  /** Runs an automatic gate's command outside of every lock, and records its verdict and output. */
  async runGate(
    id: string,
    gate: string,
    options: RunOptions = {},
  ): Promise<{ readonly issue: Issue; readonly run: GateRun }> {
    checkOptions(options, RUN);
    return runGate(this.#store, parseIssueId(id), parseGateName(gate), options);
  }

  /** Issues of another tool's file, or what `export` gave, all in one step; what is there already stays. `E_CYCLE`. */
  async import(text: string, format: ImportFormat): Promise<Imported> {
    return importIssues(this.#store, text, format);
  }

  /** Reads every issue and takes a new `index.json` from them; for when files were changed by other hands. */
  async rebuildIndex(): Promise<number> {
    return this.#store.rebuildIndex();
  }
}

/** Opens the board in a folder (`<root>/.holdfast/board`). Claims are leases of `holdfast`. Nothing is created yet. */
export function openBoard(holdfast: Holdfast, dir: string): Board {
  const documents = new Documents(boardFolder(dir), kernelOf(holdfast).clock);
  return new Board(new BoardStore(documents, holdfast));
}
