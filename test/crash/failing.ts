/** Scenarios in which one file operation fails, in a process that lives on. */
import { rmSync } from "node:fs";
import { expect } from "vitest";
import { HoldfastError } from "../../src/support/errors.js";
import { type FaultKind, faults } from "../fixtures/fault-injection.mjs";
import type { Scenario, Told } from "../fixtures/fault-scenarios.mjs";
import { expectSuccessor, observe, outline } from "./evidence.js";
import { at, type Course, prepare, undisturbed } from "./sweep.js";

const ERRNOS = ["EIO", "ENOSPC", "EACCES", "EDQUOT"] as const;

interface Extent {
  /** Of the operations only each n-th. */
  readonly every: number;
  /** All errnos, or one after the other in turn. */
  readonly allErrnos: boolean;
}

/** Fails one operation after the other. Returns how many failures there were. */
export async function failEverywhere(base: string, scenario: Scenario, { every, allErrnos }: Extent): Promise<number> {
  const course = await undisturbed(base, scenario);
  const calls = await allCalls(base, scenario);
  let count = 0;
  for (const [index, call] of calls.entries()) {
    if (index % every !== 0) continue;
    const errnos = allErrnos ? ERRNOS : ERRNOS.slice((index / every) % ERRNOS.length).slice(0, 1);
    const kinds: readonly FaultKind[] = call.startsWith("writeSync") ? [...errnos, "short"] : errnos;
    for (const what of kinds) {
      count += 1;
      await at(`${what} at ${index + 1} of ${calls.length}, ${call}`, () =>
        failOnce(base, scenario, { at: index + 1, what, call }, course),
      );
    }
  }
  return count;
}

/** With those that only read: they fail too. */
async function allCalls(base: string, scenario: Scenario): Promise<readonly string[]> {
  const { dir, mark, prepared } = await prepare(base, scenario);
  faults.arm({ at: 0, what: "none", changesOnly: false });
  await scenario.operate(prepared);
  const { seen } = faults.disarm();
  faults.bury(mark);
  rmSync(dir, { recursive: true, force: true });
  return seen;
}

interface Failure {
  readonly at: number;
  readonly what: FaultKind;
  readonly call: string;
}

async function failOnce(base: string, scenario: Scenario, failure: Failure, course: Course): Promise<void> {
  const { dir, reader, mark, prepared } = await prepare(base, scenario);
  faults.arm({ ...failure, changesOnly: false });
  const outcome = await scenario.operate(prepared).then(
    (told) => ({ told, error: null }),
    (error: unknown) => ({ told: null, error }),
  );
  faults.disarm();
  const found = outline(await observe(dir, reader));
  let told = outcome.told;
  if (told === null) told = await expectRefusal(dir, scenario, prepared, outcome.error, failure, course, found);
  else if (isAboutTheLine(failure)) expect([course.after, withoutWaiter(course.after)]).toContainEqual(found);
  else if (!isAboutProofs(failure)) expect(found).toEqual(course.after);
  faults.bury(mark);
  await expectSuccessor(dir, scenario.keys, told);
  rmSync(dir, { recursive: true, force: true });
}

/** A proof of life that cannot be tried proves nothing: whoever holds the key then counts as alive. */
function isAboutProofs({ call }: Pick<Failure, "call">): boolean {
  return call.includes(" alive/");
}

/** Where the line cannot be read, nothing is handed to whoever stands in it: that one asks. */
function isAboutTheLine({ call }: Pick<Failure, "call">): boolean {
  return call.endsWith("line.jsonl");
}

function withoutWaiter(outlined: readonly string[]): string[] {
  return outlined.filter((line) => !/ (of|by) agent:one /.test(line));
}

/** Only whether the new state would survive a power cut can be unknown once it is there: a folder could not be synced. */
const SYNC_OF_FOLDER = /^(openSync|fsyncSync) (locks\/.+|ops)(?<!\.json|\.jsonl|\.new|guard)$/;

/** The error has a code and names the file; nothing has changed, and trying again works. */
async function expectRefusal(
  dir: string,
  scenario: Scenario,
  prepared: never,
  error: unknown,
  { what, call }: Failure,
  course: Course,
  found: readonly string[],
): Promise<readonly Told[]> {
  if (!(error instanceof HoldfastError)) throw new Error("the error has no code", { cause: error });
  if (error.code === "E_IO") expect(error.details).toMatchObject({ errno: what, path: expect.stringContaining(dir) });
  else expect(error.code).toBe(isAboutProofs({ call }) ? "E_LOCK_CONFLICT" : "E_CONFIG"); // A probe of the file system.
  if (SYNC_OF_FOLDER.test(call) && JSON.stringify(found) === JSON.stringify(course.after)) return [];
  expect(found).toEqual(course.before);
  const told = await at("when tried again", () => scenario.operate(prepared));
  expect(outline(await observe(dir))).toEqual(course.after);
  return told;
}
