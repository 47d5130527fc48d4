/**
 * The self-test: tries on the actual folder, with real processes, the system facilities that every lock depends on.
 * Everything happens in a new folder inside, which is removed whatever the result is.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import type { Bench, Check } from "./check.js";
import { FILE_CHECKS } from "./files.js";
import { LEASE_CHECKS } from "./leases.js";

export interface CheckResult {
  readonly name: string;
  /** `warning`: it does not work, and Holdfast does without. */
  readonly result: "ok" | "warning" | "failed";
  readonly proves: string;
  readonly ms: number;
  /** What was found instead, or null. */
  readonly problem: string | null;
  /** What to do about it; empty when nothing is to be done. */
  readonly next: readonly string[];
}

export interface SelftestReport {
  readonly dir: string;
  readonly ok: boolean;
  readonly ms: number;
  readonly checks: readonly CheckResult[];
}

const PREFIX = ".holdfast-selftest-";
/** Longer than a test takes: what is older was left by one that was killed. */
const LEFT_BEHIND_MS = 10 * 60_000;

export const CHECKS: readonly Check[] = [...FILE_CHECKS, ...LEASE_CHECKS];

/** `E_NOT_FOUND`, `E_IO` when nothing can be made in the folder; everything else is in the report. */
export async function runSelftest(
  path: string,
  { checks = CHECKS, onResult }: { checks?: readonly Check[]; onResult?: (result: CheckResult) => void } = {},
): Promise<SelftestReport> {
  const dir = resolve(path);
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new HoldfastError("E_NOT_FOUND", `there is no folder ${dir}`, { details: { path: dir } });
  const bench = makeBench(dir);
  const startedAt = performance.now();
  const results: CheckResult[] = [];
  try {
    for (const check of checks) {
      const result = await tryOne(check, bench);
      results.push(result);
      onResult?.(result);
    }
  } finally {
    await bench.second?.kill();
    rmSync(bench.dir, { recursive: true, force: true });
  }
  const ok = results.every(({ result }) => result !== "failed");
  return { dir, ok, ms: Math.round(performance.now() - startedAt), checks: results };
}

function makeBench(dir: string): Bench {
  try {
    for (const name of readdirSync(dir)) removeIfOld(join(dir, name), name);
    const own = mkdtempSync(join(dir, PREFIX));
    mkdirSync(join(own, "store"));
    return { dir: own, store: `file:${join(own, "store")}`, second: null };
  } catch (error) {
    throw ioError(error, "make a folder in", dir);
  }
}

function removeIfOld(path: string, name: string): void {
  if (!name.startsWith(PREFIX)) return;
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  if (age > LEFT_BEHIND_MS) rmSync(path, { recursive: true, force: true });
}

async function tryOne(check: Check, bench: Bench): Promise<CheckResult> {
  const { name, proves, next } = check;
  const startedAt = performance.now();
  const since = (): number => Math.round((performance.now() - startedAt) * 10) / 10;
  try {
    await check.try(bench);
    return { name, result: "ok", proves, ms: since(), problem: null, next: [] };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { name, result: check.isOptional ? "warning" : "failed", proves, ms: since(), problem, next };
  }
}
