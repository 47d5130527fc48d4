/** Running a scenario up to a chosen file operation, in this process, and what must be true of the store afterwards. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { Holdfast } from "../../src/lease/holdfast.js";
import { isHoldfastError } from "../../src/support/errors.js";
import { type FaultKind, faults } from "../fixtures/fault-injection.mjs";
import { SCENARIOS, type Scenario, type Told } from "../fixtures/fault-scenarios.mjs";
import { type Evidence, expectSuccessor, observe, outline, worldAt } from "./evidence.js";

/** A folder in memory where there is one: what is tested is the order of operations, not the disk. */
export function scratchFolder(): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "holdfast-crash-"));
}

export function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new RangeError(`there is no scenario ${name}`);
  return scenario;
}

interface Ending {
  readonly dir: string;
  /** What the caller was told before the end, or null. */
  readonly told: readonly Told[] | null;
  readonly seen: readonly string[];
  /** A client that was there before, and has not looked yet. */
  readonly reader: Holdfast | undefined;
}

/** What an undisturbed run looks like. */
export interface Course {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly seen: readonly string[];
}

let stores = 0;

/** Brings a store of its own into the state before the operation. */
export async function prepare(base: string, scenario: Scenario) {
  stores += 1;
  const dir = join(base, `store-${stores}`);
  faults.skipSyncs();
  faults.watch(dir);
  const reader = scenario.isNewStore ? undefined : await worldAt(dir).open("user:reader");
  const mark = faults.mark();
  const prepared = await scenario.prepare(worldAt(dir));
  return { dir, reader, mark, prepared: prepared as never };
}

/** Does `operation` with the fault in place; then everything of this process dies that was opened since `mark`. */
async function endIn(
  operation: () => Promise<readonly Told[]>,
  plan: { at: number; what: FaultKind },
  mark: number,
): Promise<Pick<Ending, "told" | "seen">> {
  faults.arm(plan);
  let told: readonly Told[] | null = null;
  try {
    const grants = await operation();
    if (!faults.stopped) told = grants;
  } catch (error) {
    if (!faults.stopped) throw error;
  }
  const { seen } = faults.disarm();
  faults.bury(mark);
  return { told, seen };
}

export async function undisturbed(base: string, scenario: Scenario): Promise<Course> {
  const { dir, reader, mark, prepared } = await prepare(base, scenario);
  const before = scenario.isNewStore ? [] : outline(await observe(dir));
  const { told, seen } = await endIn(() => scenario.operate(prepared), { at: 0, what: "none" }, mark);
  const after = outline(await observe(dir, reader));
  await expectSuccessor(dir, scenario.keys, told ?? []);
  rmSync(dir, { recursive: true, force: true });
  return { before, after, seen };
}

async function stopAt(base: string, scenario: Scenario, at: number, what: FaultKind): Promise<Ending> {
  const { dir, reader, mark, prepared } = await prepare(base, scenario);
  return { dir, reader, ...(await endIn(() => scenario.operate(prepared), { at, what }, mark)) };
}

/**
 * The old state or the new one, and the new one if the caller was told so: for a reader that takes no guard, and the same
 * for whoever has been inside the guards since.
 */
export async function expectOldOrNew(
  { dir, reader, told }: Omit<Ending, "seen">,
  course: Course,
  keys: readonly string[],
): Promise<Evidence> {
  const evidence = await observe(dir, reader);
  const found = outline(evidence);
  if (told === null) expect([course.before, course.after]).toContainEqual(found);
  else expect(found).toEqual(course.after);
  await goInside(dir, keys);
  expect(outline(await observe(dir))).toEqual(found);
  return evidence;
}

/** Enters the guard of each key, and so repairs what a crash left, without taking or ending anything. */
async function goInside(dir: string, keys: readonly string[]): Promise<void> {
  const client = await worldAt(dir).open("user:looker");
  for (const key of keys)
    await client.verify(key, 1).catch((error: unknown) => expect(isHoldfastError(error)).toBe(true));
  await client.close();
}

/** Adds to a failure where it happened. */
export async function at<T>(where: string, check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
  }
}

/** The points of a course, each with the kinds of death that differ there. */
export function pointsOf({ seen }: Course, every = 1): { at: number; what: FaultKind; where: string }[] {
  return seen.flatMap((call, index) => {
    const kinds: FaultKind[] = call.startsWith("writeSync") ? ["stop", "torn"] : ["stop"];
    const place = { at: index + 1, where: `${index + 1} of ${seen.length}, ${call}` };
    return index % every === 0 ? kinds.map((what) => ({ ...place, what, where: `${what} at ${place.where}` })) : [];
  });
}

/** Stops the operation at each point; returns how many there were. */
export async function sweep(base: string, scenario: Scenario, every = 1): Promise<number> {
  const course = await undisturbed(base, scenario);
  const points = pointsOf(course, every);
  for (const point of points)
    await at(point.where, async () => {
      const ending = await stopAt(base, scenario, point.at, point.what);
      await expectOldOrNew(ending, course, scenario.keys);
      await expectSuccessor(ending.dir, scenario.keys, ending.told ?? []);
      rmSync(ending.dir, { recursive: true, force: true });
    });
  return points.length;
}

/** A newcomer opens the store after the crash and takes the keys, unless a detached grant keeps them. */
async function comeAfter(dir: string, keys: readonly string[]): Promise<readonly Told[]> {
  const client = await worldAt(dir).open("agent:next");
  return (await client.tryAcquire(keys, { ttl: "24h" }))?.grants ?? [];
}

/** Stops the operation at each point, and then whoever comes next at each point of its own. */
export async function sweepTwice(base: string, scenario: Scenario, every = 1, everySecond = 1): Promise<number> {
  const course = await undisturbed(base, scenario);
  let count = 0;
  for (const first of pointsOf(course, every)) {
    const { seen } = await crashTwice(base, scenario, first, { at: 0, what: "none" });
    for (const second of pointsOf({ ...course, seen }, everySecond)) {
      count += 1;
      await at(`${first.where}, then ${second.where}`, () => crashTwice(base, scenario, first, second));
    }
  }
  return count;
}

type Point = { readonly at: number; readonly what: FaultKind };

async function crashTwice(base: string, scenario: Scenario, first: Point, second: Point) {
  const { dir, reader, told } = await stopAt(base, scenario, first.at, first.what);
  const between = await observe(dir, reader); // Nobody goes inside yet: the repair is left to whoever comes next.
  const mark = faults.mark();
  const { told: toldNext, seen } = await endIn(() => comeAfter(dir, scenario.keys), second, mark);
  const evidence = await observe(dir);
  for (const [tree, chain] of between.chains)
    expect(hashes(evidence.chains.get(tree)).slice(0, chain.length)).toEqual(hashes(chain));
  const taken = evidence.grants.filter((grant) => grant.owner === "agent:next").map((grant) => grant.resource);
  if (taken.length > 0) expect(taken.sort()).toEqual([...scenario.keys].sort());
  for (const { resource } of toldNext ?? []) expect(taken).toContain(resource);
  await expectSuccessor(dir, scenario.keys, [...(told ?? []), ...(toldNext ?? [])]);
  rmSync(dir, { recursive: true, force: true });
  return { seen };
}

function hashes(chain: readonly { readonly hash: string }[] = []): string[] {
  return chain.map((entry) => entry.hash);
}
