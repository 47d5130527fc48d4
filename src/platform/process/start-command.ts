/**
 * Starts commands, and says why one could not be started. `holdfast run` gives its command the input and output of the
 * terminal or the caller, and the proof of life; the command of a job or a gate is guarded by the watcher instead.
 */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { existsSync, fstatSync } from "node:fs";
import { delimiter, join } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { CommandProcesses, type Heritage } from "./command-processes.js";
import { terminalPlace } from "./process-table.js";
import type { Guard } from "./watch-group.js";

/**
 * Far from the numbers that shells and scripts use, and above those that Node closes on exec when it starts: so the proof
 * also gets past programs written for Node. The lower one is for where a process may not have so many.
 */
const FIRST_DESCRIPTORS = [100, 20] as const;

export interface CommandLine {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The folder that it runs in (default: that of this process). */
  readonly cwd?: string | undefined;
}

/** The command could not be started. `exit` is what a shell would exit with. */
export class StartFailure extends Error {
  readonly exit: number;
  readonly error: HoldfastError;

  constructor(error: HoldfastError, exit: number) {
    super(error.message);
    this.error = error;
    this.exit = exit;
  }
}

/** Once this has returned the command has the proof, and this process no longer has its copy. Throws `StartFailure`. */
export async function startCommand(line: CommandLine, heritage: Heritage): Promise<CommandProcesses> {
  const hasOwnGroup = !terminalPlace().hasTerminal;
  const [usual, lower] = FIRST_DESCRIPTORS;
  const options = { cwd: line.cwd, detached: hasOwnGroup };
  const child =
    (await started(line, { ...options, stdio: withProof(heritage, usual) }, { excuse: OUT_OF_RANGE })) ??
    (await started(line, { ...options, stdio: withProof(heritage, lower) }));
  const processes = new CommandProcesses(child, hasOwnGroup, heritage);
  heritage.proof?.handOver(child.pid, hasOwnGroup);
  return processes;
}

/** Starts a command in a process group of its own, with pipes for its output and no input. Throws `StartFailure`. */
export async function startGuarded(line: CommandLine, guard: Guard): Promise<StartedChild> {
  return started(line, { cwd: line.cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] }, { guard });
}

function withProof({ proof }: Heritage, first: number): SpawnOptions["stdio"] {
  if (proof === null) return "inherit";
  const stdio: ("inherit" | "ignore" | number)[] = ["inherit", "inherit", "inherit"];
  const at = firstFree(first);
  while (stdio.length < at) stdio.push("ignore");
  // mutant: run-proof-inherited: return [...stdio, proof.descriptor]; → return stdio;
  return [...stdio, proof.descriptor];
}

/** What this process was given itself, by a run around this one, must reach the command too. */
function firstFree(from: number): number {
  for (let descriptor = from; ; descriptor += 1)
    try {
      fstatSync(descriptor);
    } catch {
      return descriptor;
    }
}

/** What the system says to the number of a descriptor that it does not allow. */
const OUT_OF_RANGE = "EINVAL";

type StartedChild = ChildProcess & { readonly pid: number };

async function started(
  line: CommandLine,
  options: SpawnOptions,
  how?: { readonly guard: Guard },
): Promise<StartedChild>;
/** Returns null when the command could not be started for this reason. */
async function started(line: CommandLine, options: SpawnOptions, how: { excuse: string }): Promise<StartedChild | null>;
async function started(
  line: CommandLine,
  options: SpawnOptions,
  { guard, excuse }: { readonly guard?: Guard; readonly excuse?: string } = {},
): Promise<StartedChild | null> {
  const begin = (mark: NodeJS.ProcessEnv): ChildProcess =>
    spawn(line.program, line.args, { ...options, env: { ...line.env, ...mark } });
  let child: ChildProcess;
  try {
    child = guard === undefined ? begin({}) : guard.started(begin);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === excuse) return null;
    throw failureOf(error, line);
  }
  const { pid } = child;
  if (pid !== undefined) return Object.assign(child, { pid });
  const error = await new Promise((resolve) => child.once("error", resolve));
  throw failureOf(error, line);
}

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

function failureOf(error: unknown, { program, env }: CommandLine): StartFailure {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR" || (code === "EACCES" && !isAnywhere(program, env.PATH)))
    return new StartFailure(
      new HoldfastError("E_NOT_FOUND", `there is no command ${program}`, {
        details: { program },
        next: ["Look at its spelling and at PATH. For what only a shell knows, write: -- sh -c '…'"],
      }),
      NOT_FOUND,
    );
  if (code === "EACCES" || code === "EPERM" || code === "ENOEXEC" || code === "EISDIR" || code === "E2BIG")
    return new StartFailure(
      new HoldfastError("E_INVALID_ARGUMENT", `${program} cannot be executed (${code})`, {
        details: { field: "CMD", program },
        next: ["Make it executable, or name the program that reads it: -- sh SCRIPT"],
      }),
      NOT_EXECUTABLE,
    );
  const other = ioError(error, "start", program);
  return new StartFailure(other, NOT_EXECUTABLE);
}

/** The system says EACCES also of what is nowhere, when a folder of PATH may not be looked into. A shell does not. */
function isAnywhere(program: string, path = ""): boolean {
  return program.includes("/") || path.split(delimiter).some((folder) => existsSync(join(folder, program)));
}
