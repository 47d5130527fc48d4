/**
 * Prints a failure once: as the only JSON document, or for people on stderr; and returns the exit code of its row in
 * the table of errors.
 */
import { ERRORS, HoldfastError } from "../../../base/errors.js";
import { Interrupted } from "../input/interrupted.js";
import { contentionHeadline, contentionLines } from "../locks/contention-text.js";
import { nextSteps } from "./next-steps.js";
import { harmless, type Screen } from "./screen.js";
import { writeError, writeOut } from "./standard-streams.js";
import { wrap } from "./text.js";

/** Exit code of a bug in holdfast. */
const BUG = 70;

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly next: readonly string[];
}

/** Returns the exit code. */
export function showError(error: unknown, command: string, screen: Screen, words: readonly string[]): number {
  const [failure, exit] = failureOf(error, command, words);
  if (screen.json && wasWritten(`${JSON.stringify({ ok: false, command, error: failure })}\n`)) return exit;
  if (error instanceof Interrupted) return exit;
  writeError(`${harmless(textOf(failure, screen, words))}\n`);
  if (exit === BUG && error instanceof Error) writeError(`${error.stack ?? error.message}\n`);
  return exit;
}

/** False when standard output takes nothing, which may be the very failure to tell of. */
function wasWritten(text: string): boolean {
  try {
    writeOut(text);
    return true;
  } catch {
    return false;
  }
}

function failureOf(error: unknown, command: string, words: readonly string[]): readonly [Failure, number] {
  if (error instanceof HoldfastError) {
    const { code, message, retryable, details } = error;
    return [{ code, message, retryable, details, next: nextSteps(error, command, words) }, ERRORS[code].exit];
  }
  if (error instanceof Interrupted)
    return [{ code: "E_INTERRUPTED", message: error.message, retryable: true, details: {}, next: [] }, error.exit];
  const message = error instanceof Error ? error.message : String(error);
  const next = ["This is a bug in holdfast. Please report it with the message above and the command."];
  return [{ code: "E_INTERNAL", message, retryable: false, details: {}, next }, BUG];
}

/** The library names its option (`timeZone: …`); who typed it knows it as `--time-zone`. */
function asTyped(message: string, { field }: Failure["details"], words: readonly string[]): string {
  const flag = `--${String(field).replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const isTyped = words.some((word) => word === flag || word.startsWith(`${flag}=`));
  return isTyped && message.startsWith(`${field}: `) ? flag + message.slice(String(field).length) : message;
}

function textOf({ code, message, details, next }: Failure, screen: Screen, words: readonly string[]): string {
  const headline = contentionHeadline(code, details) ?? asTyped(message, details, words);
  const lines = wrapped(`holdfast: ${headline}`, screen);
  lines[0] = lines[0]?.replace("holdfast:", screen.paint("red", "holdfast:")) ?? "";
  lines.push(...contentionLines(details, screen.width));
  if (next.length > 0)
    lines.push(screen.paint("dim", `next (${code}):`), ...next.flatMap((step) => stepLines(step, screen)));
  return lines.join("\n");
}

/** A command stays in one line, to be copied. */
function stepLines(step: string, screen: Screen): string[] {
  return step.startsWith("holdfast ") ? [`  ${step}`] : wrapped(step, screen, 0, 2);
}

/** What is read elsewhere keeps its lines. */
function wrapped(text: string, { isTerminal, width }: Screen, hang = 2, indent = 0): string[] {
  const room = isTerminal ? width : Infinity;
  return text.split("\n").flatMap((line) => wrap(line, room, hang, indent).split("\n"));
}
