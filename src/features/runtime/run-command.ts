/**
 * `holdfast run`: a command under locks. In this order:
 *
 *   1. The run makes a proof of life of its own, which its command will inherit.
 *   2. All keys are acquired, or none. The grants name that proof.
 *   3. The command is started with the proof open, and with the keys and tokens in its environment.
 *   4. The lease is renewed while it runs. Signals go to the command.
 *   5. The command has ended: the processes that it left are ended too, or waited for with `linger`.
 *   6. The locks are released. The exit code is the command's.
 *
 * A lease that is lost at 4 or 5 ends everything, SIGTERM first and SIGKILL half a margin later: the lease counts as lost
 * that margin before another holder may come in, see client/lease/trust.ts. Then the loss decides the exit code.
 *
 * When the runner is killed:
 *
 *   before 2   it holds nothing; its position in the queue is lost
 *   before 3   no process has the proof any longer: the grants count as dead at once
 *   during 3   the new process has the proof from the moment it exists; then it is as at 4
 *   at 4, 5    the grants stay, expired or not, as long as any process has the proof open. They are not renewed, so their
 *              tokens commit nothing once the lease is over.
 *   before 6   no process has the proof any longer: the grants count as dead at once
 *
 * Not promised: that a process which left the group and closed the descriptors it inherited is ended, or keeps the lock.
 */
import { constants } from "node:os";
import { ERRORS, HoldfastError } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { Holdfast } from "../../client/holdfast.js";
import type { Lease } from "../../client/lease/lease.js";
import { isLoss } from "../../client/lease/loss.js";
import { marginMs } from "../../client/lease/trust.js";
import { openIn } from "../../client/open-holdfast.js";
import type { AcquireOptions } from "../../client/options.js";
import type { FoundWorkspace } from "../../client/workspace/find-workspace.js";
import type { GrantRecord } from "../../lock/grant.js";
import type { CommandEnd, CommandProcesses } from "../../platform/process/command-processes.js";
import { pathOf } from "../../platform/process/process-table.js";
import { startCommand } from "../../platform/process/start-command.js";
import { borrowEnclosing, environmentUnder } from "./enclosing-runs.js";
import { openSignalDesk, type SignalDesk } from "./signals.js";

/** How long what a command left behind may take to end when asked to. */
const LEFTOVER_GRACE_MS = 5_000;
const RELEASE_TRIES = 3;

export interface RunRequest {
  readonly workspace: FoundWorkspace;
  /** Called with the folder that became a workspace. */
  readonly onMade?: (root: string) => void;
  readonly keys: readonly string[];
  readonly acquire: Pick<AcquireOptions, "mode" | "ttl" | "wait" | "metadata">;
  /** Finds the tokens that the request presents beside those of the runs around it, and the keys that it adds. */
  readonly borrow?: (
    holdfast: Holdfast,
  ) => Promise<{ readonly presenting: readonly string[]; readonly lent: readonly string[] }>;
  /** Sees the wait for the locks, to tell of it. */
  readonly whileWaiting?: (holdfast: Holdfast, acquired: Promise<Lease>) => Promise<Lease>;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Waits for what the command leaves running instead of ending it. */
  readonly linger: boolean;
  /**
   * Does something around the command while the locks are held. What it throws is thrown, after the locks are back.
   * `stopped` aborts when a signal ends the run before its command was started.
   */
  readonly around?: ((lease: Lease, command: StagedCommand, stopped: AbortSignal) => Promise<void>) | undefined;
}

/** Runs the command in a folder of its own. True when it ended well and the lease is still held. */
export type StagedCommand = (cwd: string) => Promise<boolean>;

export interface RunOutcome {
  readonly exitCode: number;
  readonly end: CommandEnd;
  /** As they were when the command was started. */
  readonly grants: readonly GrantRecord[];
  /** Why the lease was lost, if it was. */
  readonly lost: HoldfastError | null;
  /** Why the locks could not be given back, if so; then the profile of each decides when it is free. */
  readonly kept: string | null;
}

/** Throws what `acquire` throws, `StartFailure` when there is no such command, `StoppedBySignal` when not to wait on. */
export async function runCommand(request: RunRequest): Promise<RunOutcome> {
  const desk = openSignalDesk();
  try {
    const { workspace, onMade } = request;
    const holdfast = await openIn(workspace, { heart: "loop", runsCommand: true, ...given({ onMade }) });
    const outcome = await runIn(holdfast, request, desk);
    // What was not given back must go on being provable: closing would take the proof's file away.
    if (outcome.kept === null) await holdfast.close();
    return outcome;
  } finally {
    desk.close();
  }
}

async function runIn(holdfast: Holdfast, request: RunRequest, desk: SignalDesk): Promise<RunOutcome> {
  try {
    const within = await borrowEnclosing(holdfast, request.env);
    const { presenting = [], lent = [] } = (await request.borrow?.(holdfast)) ?? {};
    const options = { ...request.acquire, signal: desk.stopped, within, presenting };
    const acquired = holdfast.acquire([...request.keys, ...lent], options);
    const lease = await (request.whileWaiting?.(holdfast, acquired) ?? acquired);
    return await runUnder(lease, holdfast, request, desk);
  } catch (error) {
    await holdfast.close();
    throw error;
  }
}

async function runUnder(lease: Lease, holdfast: Holdfast, request: RunRequest, desk: SignalDesk): Promise<RunOutcome> {
  desk.stopped.throwIfAborted();
  if (request.around === undefined) return finish(await commandUnder(lease, holdfast, request, desk), lease);
  let course: Course | null = null;
  const command = async (cwd: string): Promise<boolean> => {
    // mutant: run-stage-stopped: desk.stopped.throwIfAborted(); →
    desk.stopped.throwIfAborted();
    course = await commandUnder(lease, holdfast, request, desk, cwd);
    return course.isGone && course.lost === null && course.end.exitCode === 0;
  };
  await request.around(lease, command, desk.stopped);
  if (course === null) throw new RangeError("the command was not run");
  return finish(course, lease);
}

/** How it went with the command, before the locks are given back. */
interface Course {
  readonly end: CommandEnd;
  readonly grants: readonly GrantRecord[];
  readonly lost: HoldfastError | null;
  readonly isGone: boolean;
}

async function commandUnder(
  lease: Lease,
  holdfast: Holdfast,
  { program, args, env, linger }: RunRequest,
  desk: SignalDesk,
  cwd?: string,
): Promise<Course> {
  const { grants, signal } = lease;
  signal.throwIfAborted(); // Much may have happened since it was acquired: a folder was copied, the machine slept.
  const staged = cwd === undefined ? {} : { HOLDFAST_STAGE: cwd };
  const environment = { ...environmentUnder(lease, env), ...staged };
  const proof = holdfast.commandProof;
  const command = await startCommand(
    { program, args, env: environment, cwd },
    {
      proof,
      proofPath: proof === null ? null : pathOf(proof.descriptor),
      variable: `HOLDFAST_LEASE_TOKEN=${lease.token}`,
    },
  );
  desk.passTo(command);
  const isGone = await untilOver(command, lease, linger);
  const lost = signal.aborted || lease.state === "lost" ? (lease.signal.reason as HoldfastError) : null;
  return { end: await command.ended, grants, lost, isGone };
}

async function finish({ end, grants, lost, isGone }: Course, lease: Lease): Promise<RunOutcome> {
  if (!isGone) return outcomeOf(end, grants, lost, "a process that left the group could not be found and still runs");
  const failure = await giveBack(lease);
  const isOver: boolean = isLoss(failure);
  return outcomeOf(end, grants, isOver ? (lost ?? failure) : lost, isOver ? null : (failure?.message ?? null));
}

/** Until nothing of the run is left. False when somebody is who cannot be found. */
async function untilOver(command: CommandProcesses, { signal, grants }: Lease, linger: boolean): Promise<boolean> {
  let lostAt = 0;
  const lost = new Promise<void>((resolve) => {
    const note = (): void => {
      lostAt = performance.now();
      resolve();
    };
    if (signal.aborted) note();
    else signal.addEventListener("abort", note, { once: true });
  });
  await Promise.race([command.ended, lost]);
  if (linger) await command.untilGone(signal);
  const startedAt = performance.now();
  const leaseMs = Math.min(...grants.map((grant) => grant.lease_duration_s * 1_000));
  return command.end(() =>
    signal.aborted ? Math.max(0, lostAt - startedAt) + marginMs(leaseMs) / 2 : LEFTOVER_GRACE_MS,
  );
}

/** Null when it was released, or was lost and is gone. */
async function giveBack(lease: Lease): Promise<HoldfastError | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      await lease.release();
      return null;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      if (!error.retryable || tries === RELEASE_TRIES) return error;
    }
  }
}

function outcomeOf(
  end: CommandEnd,
  grants: readonly GrantRecord[],
  lost: HoldfastError | null,
  kept: string | null,
): RunOutcome {
  // mutant: run-loss-decides: lost === null ? exitCodeOf(end) : ERRORS[lost.code].exit → ERRORS && exitCodeOf(end)
  return { exitCode: lost === null ? exitCodeOf(end) : ERRORS[lost.code].exit, end, grants, lost, kept };
}

/** As a shell has it: 128 and the number of the signal. */
function exitCodeOf({ exitCode, signal }: CommandEnd): number {
  return exitCode ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
