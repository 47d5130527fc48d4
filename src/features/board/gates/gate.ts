/** Gates: checks that an issue must pass before it can be done. `gates.json` is their registry. */
import type { OptionNames } from "../../../base/check-options.js";
import { type Duration, parseDuration } from "../../../base/duration.js";
import { invalidArgument } from "../../../base/errors.js";
import { parseGateName } from "../issue.js";

/** What a gate is. A manual one is passed by a word, an automatic one by its command's exit code 0. */
export interface Gate {
  readonly name: string;
  readonly kind: "manual" | "automatic";
  readonly description: string;
  /** Program and arguments; no shell. Null for a manual gate. */
  readonly command: readonly string[] | null;
  readonly timeout_s: number;
  readonly created_at: string;
  readonly created_by: string;
}

/** The value of `gates.json`. */
export interface GateRegistry {
  readonly gates: Readonly<Record<string, Gate>>;
}

export interface NewGate {
  readonly name: string;
  readonly description?: string;
  /** Makes it automatic. */
  readonly command?: readonly string[];
  /** How long the command may run. Default 10 min; 1 s to 24 h. */
  readonly timeout?: Duration;
}

export const GATE: OptionNames<NewGate> = { name: true, description: true, command: true, timeout: true };

/** What one run of an automatic gate gave; kept in `runs/<issue>.<gate>.json`. */
export interface GateRun {
  readonly issue: string;
  readonly gate: string;
  readonly command: readonly string[];
  readonly status: "passed" | "failed";
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly timed_out: boolean;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly by: string;
  /** Both streams as they came; the middle is left out when there was more than 64 KiB. */
  readonly output: string;
}

const TIMEOUT_LIMITS = { atLeastMs: 1_000, atMostMs: 24 * 3_600_000 };
const DEFAULT_TIMEOUT_MS = 600_000;

export function makeGate(wanted: NewGate, by: string, at: string): Gate {
  const { name, description = "", command } = wanted;
  if (typeof description !== "string") throw invalidArgument("description", "text");
  if (command !== undefined && (!Array.isArray(command) || !command.every(isWord) || (command[0] ?? "") === ""))
    throw invalidArgument("command", "a program and its arguments");
  return {
    name: parseGateName(name),
    kind: command === undefined ? "manual" : "automatic",
    description,
    command: command === undefined ? null : [...command],
    timeout_s: parseDuration(wanted.timeout ?? DEFAULT_TIMEOUT_MS, "timeout", TIMEOUT_LIMITS) / 1000,
    created_at: at,
    created_by: by,
  };
}

function isWord(word: unknown): boolean {
  return typeof word === "string" && !word.includes("\0");
}
