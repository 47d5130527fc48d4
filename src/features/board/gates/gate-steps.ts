/** Defines gates, and sets or returns the verdict that an issue has at one. */
import { dirname } from "node:path";
import type { OptionNames } from "../../../base/check-options.js";
import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import { kernelOf } from "../../../client/kernel.js";
import type { Transaction } from "../../documents/documents.js";
import { type BoardStore, CHANGE, type ChangeOptions } from "../board-store.js";
import { type GateStatus, type Issue, notFound } from "../issue.js";
import { type Gate, type GateRun, makeGate, type NewGate } from "./gate.js";
import { findGate, gatesToChange, requireGate, runDocument } from "./gate-files.js";
import { type CommandResult, runGateCommand } from "./run-gate.js";

/** `E_INVALID_ARGUMENT` when there is one of that name. */
export async function defineGate(board: BoardStore, wanted: NewGate): Promise<Gate> {
  const gate = makeGate(wanted, board.owner, board.now());
  await board.documents.transact((tx) => {
    if (Object.hasOwn(gatesToChange(tx), gate.name))
      throw invalidArgument("name", `there is a gate ${gate.name} already`);
    addGate(board, tx, gate);
  });
  return gate;
}

/** Writes a new one with its event. */
export function addGate(board: BoardStore, tx: Transaction, gate: Gate): void {
  const revision = tx.put("gates", { gates: { ...gatesToChange(tx), [gate.name]: gate } });
  tx.append("events", {
    at: board.now(),
    event: "gate_defined",
    id: null,
    by: board.owner,
    revision,
    changes: { gate },
  });
}

export interface JudgeOptions extends ChangeOptions {
  readonly note?: string;
}

export const JUDGE: OptionNames<JudgeOptions> = { ...CHANGE, note: true };

/** A person's word on a manual gate. The word on an automatic one is its command's. */
export async function judge(
  board: BoardStore,
  id: string,
  name: string,
  status: Exclude<GateStatus, "pending">,
  options: JudgeOptions,
): Promise<Issue> {
  const gate = await findGate(board, name);
  if (gate.kind === "automatic")
    throw new HoldfastError("E_FORBIDDEN", `gate ${name} is automatic: its command decides`, {
      details: { gate: name, issue: id },
      next: [`holdfast gate run ${id} ${name}`],
    });
  return settleGate(board, id, name, status, options);
}

export interface RunOptions extends ChangeOptions {
  /** Ends the command; nothing is recorded then. */
  readonly signal?: AbortSignal;
}

export const RUN: OptionNames<RunOptions> = { ...CHANGE, signal: true };

/**
 * Runs an automatic gate's command for an issue and records what it gave, with its output. No guard and no lock is taken
 * while it runs, and a claim is kept alive; the verdict is written in a step of its own.
 */
export async function runGate(
  board: BoardStore,
  id: string,
  name: string,
  { signal, ...options }: RunOptions,
): Promise<{ readonly issue: Issue; readonly run: GateRun }> {
  const gate = await findGate(board, name);
  const issue = await board.read(id);
  if (issue === null) throw notFound("issue", id);
  requireGate(issue, name);
  if (gate.command === null)
    throw new HoldfastError("E_INVALID_ARGUMENT", `gate: ${name} is manual, it has no command`, {
      details: { field: "gate" },
      next: [`holdfast issue gate pass ${id} ${name}`],
    });
  const [program = "", ...args] = gate.command;
  const startedAt = board.now();
  const result = await board.keepingClaim(id, options.token, () =>
    runGateCommand(
      {
        program,
        args,
        cwd: dirname(dirname(board.dir)),
        env: { ...kernelOf(board.holdfast).env, HOLDFAST_ISSUE: id, HOLDFAST_GATE: name },
      },
      { timeoutMs: gate.timeout_s * 1000, signal },
    ),
  );
  const run = toRun(board, id, gate, startedAt, result);
  return { issue: await settleGate(board, id, name, run.status, { ...options, note: describe(run), run }), run };
}

function toRun(
  board: BoardStore,
  id: string,
  { name, command }: Gate,
  startedAt: string,
  { exitCode, signal, timedOut, durationMs, output }: CommandResult,
): GateRun {
  return {
    issue: id,
    gate: name,
    command: command ?? [],
    status: exitCode === 0 && !timedOut ? "passed" : "failed",
    exit_code: exitCode,
    signal,
    timed_out: timedOut,
    started_at: startedAt,
    duration_ms: durationMs,
    by: board.owner,
    output,
  };
}

/** In a few words, for the note beside the verdict. */
function describe({ exit_code, signal, timed_out, duration_ms }: GateRun): string {
  const took = `${(duration_ms / 1000).toFixed(1)} s`;
  if (timed_out) return `ended after ${took}: out of time`;
  if (exit_code === null) return signal === null ? "could not be started" : `ended by ${signal} after ${took}`;
  return `exit code ${exit_code} after ${took}`;
}

async function settleGate(
  board: BoardStore,
  id: string,
  name: string,
  status: Exclude<GateStatus, "pending">,
  options: ChangeOptions & { readonly note?: string; readonly run?: GateRun },
): Promise<Issue> {
  const event = status === "passed" ? "gate_passed" : "gate_failed";
  return board.change(id, event, options, (issue, tx) => {
    requireGate(issue, name);
    if (options.run !== undefined) tx.put(runDocument(id, name), options.run);
    const state = { status, at: board.now(), by: board.owner, note: options.note ?? null };
    return { ...issue, gates: { ...issue.gates, [name]: state } };
  });
}
