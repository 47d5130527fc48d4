/**
 * `holdfast run`: runs a command while its locks are held. Standard output belongs to that command: reports go to
 * stderr and to `--report`.
 */
import { resolve } from "node:path";
import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { Lease } from "../../../client/lease/lease.js";
import { type AcquireOptions, parseWait } from "../../../client/options.js";
import { borrowFromHook } from "../../../client/workspace/run-tokens.js";
import type { ChangesOutcome } from "../../../features/publish/publish-changes.js";
import { type RunOutcome, runCommand, type StagedCommand } from "../../../features/runtime/run-command.js";
import { StoppedBySignal } from "../../../features/runtime/signals.js";
import type { Mode } from "../../../lock/mode.js";
import { StartFailure } from "../../../platform/process/start-command.js";
import type { BaseContext, Outcome } from "../command.js";
import { Interrupted } from "../input/interrupted.js";
import { tellingOfTheWait } from "../locks/acquire.js";
import { madeNote } from "../output/made-note.js";
import { openReport } from "../output/report-file.js";
import { stageData, stageNotes } from "./stage-text.js";

const SIGNAL_EXITS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 };
const NOT_HAD = new Set(["E_LOCK_CONFLICT", "E_LOCK_TIMEOUT"]);

interface RunFlags {
  readonly mode: Mode | undefined;
  readonly ttl: string | undefined;
  readonly wait: string | undefined;
  readonly meta: Readonly<Record<string, string>> | undefined;
  readonly stage: string | undefined;
  readonly linger: boolean;
  readonly report: string | undefined;
  readonly "conflict-exit-code": number | undefined;
}

interface RunContext extends BaseContext {
  readonly args: { readonly KEY: readonly string[] };
  readonly flags: BaseContext["flags"] & RunFlags;
  readonly rest: readonly string[];
}

export async function runUnderLocks(context: RunContext): Promise<Outcome> {
  const { flags, rest, env } = context;
  const { stage, linger } = flags;
  const { KEY: keys } = context.args;
  const [program = "", ...args] = rest;
  const conflictExit = exitCode(flags["conflict-exit-code"]);
  const report = openReport(flags.report, context);
  try {
    let staged: ChangesOutcome | null = null;
    const around = async (lease: Lease, command: StagedCommand, signal: AbortSignal): Promise<void> => {
      const { publishChanges } = await import("../../../features/publish/publish-changes.js");
      const { root } = context.settings();
      const holdAtCommit = parseWait(flags.wait ?? context.settings().config.wait);
      const options = { signal, ...given({ workspace: root ?? undefined, holdAtCommit }) };
      staged = await publishChanges(lease, resolve(context.cwd, stage ?? "."), command, options);
    };
    const outcome = await runCommand({
      workspace: context.settings(),
      onMade: (made) => context.screen.say(madeNote(made)),
      keys,
      acquire: acquireOptions(flags),
      borrow: (holdfast) => borrowFromHook(holdfast, context.settings(), env, keys),
      whileWaiting: (holdfast, acquired) => tellingOfTheWait(context, holdfast, keys, acquired),
      program,
      args,
      env,
      linger,
      around: stage === undefined ? undefined : around,
    });
    const data = { ...dataOf(outcome), ...(stage === undefined ? {} : { stage: stageData(staged) }) };
    const { lost } = outcome;
    const unwritten = unwrittenBy(() => (lost === null ? report.succeeded(data) : report.failed(lost, data)));
    const notes = stage === undefined ? [] : stageNotes(staged, stage);
    return { exit: outcome.exitCode, notes: [...notesOf(outcome), ...notes, ...unwritten] };
  } catch (thrown) {
    if (thrown instanceof StoppedBySignal) throw new Interrupted(thrown.signal, SIGNAL_EXITS[thrown.signal] ?? 1);
    const error = thrown instanceof StartFailure ? thrown.error : thrown;
    if (error instanceof HoldfastError)
      for (const note of unwrittenBy(() => report.failed(error))) context.screen.say(note);
    const exit = thrown instanceof StartFailure ? thrown.exit : isNotHad(error) ? conflictExit : undefined;
    if (exit === undefined) throw error;
    const { showError } = await import("../output/failure.js");
    showError(error, context.command, context.screen, process.argv.slice(2));
    return { exit };
  }
}

/** How it went is told by the exit code, also when it could not be written down. */
function unwrittenBy(write: () => void): string[] {
  try {
    write();
    return [];
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return [`holdfast: the report was not written: ${error.message}`];
  }
}

function acquireOptions({
  mode,
  ttl,
  wait,
  meta,
}: RunFlags): Pick<AcquireOptions, "mode" | "ttl" | "wait" | "metadata"> {
  return given({ mode, ttl, wait, metadata: meta });
}

function exitCode(code: number | undefined): number | undefined {
  if (code !== undefined && (code < 0 || code > 255)) throw invalidArgument("conflict-exit-code", "from 0 to 255");
  return code;
}

function isNotHad(error: unknown): boolean {
  return error instanceof HoldfastError && NOT_HAD.has(error.code);
}

function dataOf({ exitCode, end, grants, kept }: RunOutcome): Record<string, unknown> {
  return { grants, exit_code: exitCode, command_exit_code: end.exitCode, command_signal: end.signal, kept };
}

function notesOf({ lost, kept, end }: RunOutcome): string[] {
  const how = end.signal === null ? `it returned ${end.exitCode}` : `it ended by ${end.signal}`;
  const notes =
    lost === null ? [] : [`holdfast: the lease was lost, and the command with it (${how}): ${lost.message}`];
  if (kept !== null) notes.push(`holdfast: the lock was not given back: ${kept}`);
  return notes;
}
