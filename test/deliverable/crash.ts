/** Stopping an operation on a folder at a chosen file operation, and what must be true of the folder afterwards. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { Deliverable } from "../../src/deliverable/deliverable.js";
import type { LogLine } from "../../src/deliverable/log.js";
import { createSystemClock } from "../../src/support/clock.js";
import { isHoldfastError } from "../../src/support/errors.js";
import {
  createOffice,
  type DeliverableScenario,
  type Held,
  type Office,
  SCENARIOS,
} from "../fixtures/deliverable-scenarios.mjs";
import { type FaultKind, type FaultPlan, faults } from "../fixtures/fault-injection.mjs";
import { isLocked, readLock, readLog } from "./scene.js";

const CHILD = fileURLToPath(new URL("../fixtures/deliverable-crash-child.mjs", import.meta.url));
const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

function newOffice(): Office {
  const folder = join(mkdtempSync(join(base, "holdfast-deliverable-")), "DEL-1");
  faults.skipSyncs();
  faults.watch(folder);
  return createOffice({ Deliverable, createSystemClock }, folder);
}

function scenarioNamed(name: string): DeliverableScenario {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new RangeError(`there is no scenario ${name}`);
  return scenario;
}

/** The file operations of an undisturbed run. */
export async function operationsOf(name: string): Promise<readonly string[]> {
  const { office, seen } = await runUpTo(scenarioNamed(name), { at: 0, what: "none" });
  rmSync(dirname(office.folder), { recursive: true, force: true });
  return seen;
}

async function runUpTo(scenario: DeliverableScenario, plan: FaultPlan) {
  const office = newOffice();
  const prepared = await scenario.prepare(office);
  const mark = faults.mark();
  faults.arm(plan);
  let held: Held = null;
  try {
    held = await scenario.operate(prepared as never);
  } catch (error) {
    if (!faults.stopped && !isHoldfastError(error)) throw error;
  }
  if (faults.stopped) held = null;
  const { seen } = faults.disarm();
  faults.bury(mark);
  faults.bury(); // The holder of the lock is of the same process: it dies with it.
  return { office, held, seen };
}

/** Stops the operation at each point, in this process; then whoever comes next, at each point of its own. */
export async function sweep(name: string, { every = 1, second = 0 } = {}): Promise<number> {
  const scenario = scenarioNamed(name);
  const operations = await operationsOf(name);
  let count = 0;
  for (let at = 1; at <= operations.length; at += every)
    for (const what of kindsAt(operations[at - 1])) {
      const where = `${what} at ${at} of ${operations.length}, ${operations[at - 1]}`;
      for (let next = 0; next <= (second > 0 ? 40 : 0); next += Math.max(1, second)) {
        count += 1;
        const { office, held } = await runUpTo(scenario, { at, what });
        if (next > 0) await interruptNext(office, next);
        await check(`${where}, then ${next}`, office, held);
        rmSync(dirname(office.folder), { recursive: true, force: true });
      }
    }
  return count;
}

function kindsAt(operation = ""): FaultKind[] {
  return operation.startsWith("writeSync") ? ["stop", "torn"] : ["stop"];
}

async function interruptNext(office: Office, at: number): Promise<void> {
  const mark = faults.mark();
  faults.arm({ at, what: "stop" });
  await office
    .as("agent:second")
    .lock()
    .catch(() => undefined);
  faults.disarm();
  faults.bury(mark);
}

/** An error of the disk instead: it is told, or has not mattered, and the folder is as good as before. */
export async function failEverywhere(name: string, errno: FaultKind): Promise<number> {
  const scenario = scenarioNamed(name);
  const operations = await operationsOf(name);
  for (let at = 1; at <= operations.length; at += 1) {
    const { office, held } = await runUpTo(scenario, { at, what: errno, changesOnly: true });
    await check(`${errno} at ${at}, ${operations[at - 1]}`, office, held);
    rmSync(dirname(office.folder), { recursive: true, force: true });
  }
  return operations.length;
}

/** The same with a process that is really killed. */
export async function killAt(name: string, at: number, when: "before" | "after", what: FaultKind): Promise<void> {
  const { folder } = newOffice();
  const held = await new Promise<Held>((resolve, reject) => {
    execFile(process.execPath, [CHILD, name, folder, String(at), when, what], (error, stdout, stderr) => {
      if (error?.signal !== "SIGKILL") reject(new Error(`${name} was not killed: ${stderr}`, { cause: error }));
      else resolve(stdout === "" ? null : (JSON.parse(stdout) as { held: Held }).held);
    });
  });
  await check(`${what} ${when} ${at}`, createOffice({ Deliverable, createSystemClock }, folder), held);
  rmSync(dirname(folder), { recursive: true, force: true });
}

async function check(where: string, office: Office, held: Held): Promise<void> {
  try {
    await expectWhole(office, held);
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
  }
}

async function expectWhole(office: Office, held: Held): Promise<void> {
  const { folder } = office;
  const seen = visibleLock(folder);
  if (held !== null) expect(seen?.lock_id).toBe(held.lockId);
  const status = await office.as("agent:next").status();
  expect(visibleLock(folder)).toEqual(seen);
  if (status.state === "corrupt") await office.as("agent:next").recover();
  if (status.state === "held") {
    // Nobody was told, or it is bound to no process: then the lease decides.
    await expect(office.as("agent:next").lock()).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(status.lock?.pid).toBeNull();
    office.pass(25 * 3_600_000);
  }
  const next = await office.as("agent:next").lock();
  for (const token of [held?.token, seen?.fencing_token]) expect(next.fencingToken).toBeGreaterThan(Number(token ?? 0));
  expectTrueStory(readLog(folder), next.record.lock_id, seen?.lock_id);
  await next.unlock();
  expect(isLocked(folder)).toBe(false);
  expect(readdirSync(folder).sort()).toEqual([".holdfast", "_LOCK.log.jsonl", "_STATUS.md", "drafts"]);
  expect(readFileSync(join(folder, "_STATUS.md"), "utf8")).toBe("state: IN_PROGRESS\n");
  expect(readdirSync(dirname(folder))).toEqual(["DEL-1"]);
  const own = readdirSync(join(folder, ".holdfast", "deliverable"));
  expect(own.filter((name) => name.startsWith("token-"))).toEqual([]);
}

/** Whole, or not there. */
function visibleLock(folder: string): { readonly lock_id?: string; readonly fencing_token?: number } | null {
  if (!isLocked(folder)) return null;
  const text = readFileSync(join(folder, "_LOCK.json"), "utf8");
  return text === "torn" ? {} : readLock(folder);
}

/** The log tells of every change once, of nothing else, and in order. */
function expectTrueStory(log: readonly LogLine[], current: string, seen: string | undefined): void {
  let holder: string | null = null;
  let fence = 0;
  const told = new Set<string | null>();
  for (const { action, lock_id, fencing_token, recovery_reason } of log) {
    if (action === "locked") {
      expect([holder, told.has(lock_id)]).toEqual([null, false]);
      expect(fencing_token).toBeGreaterThan(fence === 0 ? 0 : fence - 1);
      told.add(lock_id);
      holder = lock_id;
    } else {
      if (recovery_reason !== "corrupt") expect(lock_id).toBe(holder);
      holder = null;
    }
    fence = Math.max(fence, fencing_token);
  }
  expect(holder).toBe(current);
  if (seen !== undefined) expect([...told]).toContain(seen);
}
