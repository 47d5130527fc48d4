/**
 * The list of steps of a restore in place: the steps are found in any order and carried out phase by phase. The phases
 * come in this order, so that a step never meets what a later one made: open folders, put files away, remove folders,
 * make folders, put files, link, then modes and times of files, and of folders from the deepest up. Steps of files wait
 * in a file of their phase when they are many; only those of folders stay in memory.
 */
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { createLineWriter, type LineWriter, readLines } from "../capture/line-files.js";

/** One idempotent step. `n` names the files in `new/` and `old/`; `was` is the evidence of what the rescue snapshot saved. */
export type Step =
  | { readonly op: "open"; readonly path: string }
  | { readonly op: "away"; readonly path: string; readonly n: number; readonly was: string | null }
  | { readonly op: "rmdir"; readonly path: string }
  | { readonly op: "mkdir"; readonly path: string; readonly n: number }
  | { readonly op: "put"; readonly path: string; readonly n: number; readonly was: string | null }
  | { readonly op: "link"; readonly path: string; readonly n: number; readonly to: string; readonly was: string | null }
  | { readonly op: "file"; readonly path: string; readonly mode: number; readonly mtime_us: number }
  | { readonly op: "symlink"; readonly path: string; readonly mtime_us: number }
  | { readonly op: "folder"; readonly path: string; readonly mode: number; readonly mtime_us: number };

const PHASES: readonly Step["op"][] = ["open", "away", "rmdir", "mkdir", "put", "link", "file", "symlink", "folder"];
/** Found from the top down, done from the bottom up. */
const REVERSED: ReadonlySet<Step["op"]> = new Set(["rmdir", "folder"]);
const MOST_IN_MEMORY = 4_096;

export interface StepWriter {
  add(step: Step): void;
  /** All of them in one file, synced. */
  finish(): { readonly steps: number; readonly steps_hash: string };
}

/** Replaces what is at the path. A crash leaves files beside it, which go with their folder. */
export function createStepWriter(path: string, mostInMemory = MOST_IN_MEMORY): StepWriter {
  const phases = new Map(
    PHASES.map((op) => [op, createPhase(`${path}.${op}`, REVERSED.has(op) ? Infinity : mostInMemory)]),
  );
  rmSync(path, { force: true });
  return {
    add: (step) => phases.get(step.op)?.add(JSON.stringify(step)),
    finish() {
      const writer = createLineWriter(path);
      const digest = createHash("sha256");
      let steps = 0;
      for (const [op, phase] of phases)
        for (const line of phase.lines(REVERSED.has(op))) {
          digest.update(`${line}\n`);
          writer.add(line);
          steps += 1;
        }
      writer.finish(true);
      return { steps, steps_hash: digest.digest("hex") };
    },
  };
}

function createPhase(path: string, most: number) {
  let recent: string[] = [];
  let earlier: LineWriter | null = null;
  return {
    add(line: string): void {
      recent.push(line);
      if (recent.length < most) return;
      if (earlier === null) rmSync(path, { force: true });
      earlier ??= createLineWriter(path);
      for (const each of recent) earlier.add(each);
      recent = [];
    },
    *lines(isReversed: boolean): Generator<string> {
      earlier?.finish(false);
      if (earlier !== null) yield* readLines(path);
      yield* isReversed ? recent.reverse() : recent;
      if (earlier !== null) rmSync(path);
    },
  };
}

/** From the step of this number on; null when they are not those of this hash. */
export function readSteps(path: string, stepsHash: string, from: number): Generator<Step> | null {
  const digest = createHash("sha256");
  for (const line of readLines(path)) digest.update(`${line}\n`);
  return digest.digest("hex") === stepsHash ? stepsFrom(path, from) : null;
}

function* stepsFrom(path: string, from: number): Generator<Step> {
  let number = 0;
  for (const line of readLines(path)) {
    if (number >= from) yield JSON.parse(line) as Step;
    number += 1;
  }
}

export interface Bunch {
  readonly steps: readonly Step[];
  /** The next one is of another phase, or there is none. */
  readonly endsPhase: boolean;
}

/** Bunches of one phase each. */
export function* bunchesOf(steps: Iterable<Step>, most: number): Generator<Bunch> {
  let bunch: Step[] = [];
  for (const step of steps) {
    const endsPhase = bunch.length > 0 && bunch[0]?.op !== step.op;
    if (endsPhase || bunch.length === most) {
      yield { steps: bunch, endsPhase };
      bunch = [];
    }
    bunch.push(step);
  }
  if (bunch.length > 0) yield { steps: bunch, endsPhase: true };
}
