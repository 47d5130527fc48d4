/**
 * Pins of the objects of snapshots: a process that reads or stores objects pins all of them, before it looks whether
 * one exists, with a shared kernel lock on `use`; gc takes that lock exclusively to remove any. The system frees it
 * when a process dies. So that a stream of newcomers does not keep gc out for ever, every process passes the turnstile
 * first, and gc closes it while it waits; but only for a turn at a time, since it may wait for a long restore and the
 * others should not have to.
 */
import { closeSync, openSync } from "node:fs";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { sleep } from "../../../base/sleep.js";
import { openOrMake } from "../../../platform/folder-rights.js";
import { tryLockExclusive, tryLockShared } from "../../../platform/kernel-lock.js";
import type { Layout } from "../layout.js";

const PAUSE_MS = 5;
/** Longer than any gc stands in the turnstile. */
const PATIENCE_MS = 120_000;
/** How long gc keeps newcomers out at a time, and how long it lets them in between. */
const TURN_MS = 30_000;
const OPEN_MS = 50;

/** Until it is disposed, no object is removed. `E_STORE_UNAVAILABLE` when gc does not end. */
export async function pinObjects({ use, turnstile }: Layout): Promise<Disposable> {
  using gate = openLockable(turnstile);
  await until(
    () => tryLockShared(gate.fd),
    PATIENCE_MS,
    () => stuck(turnstile),
  );
  const pin = openLockable(use);
  try {
    await until(
      () => tryLockShared(pin.fd),
      PATIENCE_MS,
      () => stuck(use),
    );
    return pin;
  } catch (error) {
    pin[Symbol.dispose]();
    throw error;
  }
}

/** Nobody else uses an object until it is disposed. `E_LOCK_CONFLICT` when somebody does for longer than `waitMs`. */
export async function claimObjects(layout: Layout, waitMs: number, turnMs = TURN_MS): Promise<Disposable> {
  for (let leftMs = waitMs; ; ) {
    const startedAt = performance.now();
    // mutant: tree-gc-turns: const isLast = leftMs <= turnMs; → const isLast = leftMs > 0;
    const isLast = leftMs <= turnMs;
    const claim = await claimInTurn(layout, isLast ? leftMs : turnMs);
    if (claim !== null) return claim;
    if (isLast) throw busy();
    await sleep(OPEN_MS);
    leftMs = Math.max(0, leftMs - (performance.now() - startedAt));
  }
}

/** Null when it takes longer. */
async function claimInTurn({ use, turnstile }: Layout, waitMs: number): Promise<Disposable | null> {
  const gate = await tryClaim(turnstile, waitMs);
  if (gate === null) return null;
  let claim: Disposable | null = null;
  try {
    claim = await tryClaim(use, waitMs);
  } finally {
    if (claim === null) gate[Symbol.dispose]();
  }
  const claimed = claim;
  if (claimed === null) return null;
  return {
    [Symbol.dispose]() {
      claimed[Symbol.dispose]();
      gate[Symbol.dispose]();
    },
  };
}

async function tryClaim(path: string, waitMs: number): Promise<Disposable | null> {
  const claim = openLockable(path);
  try {
    if (await isSoWithin(waitMs, () => tryLockExclusive(claim.fd))) return claim;
  } catch (error) {
    claim[Symbol.dispose]();
    throw error;
  }
  claim[Symbol.dispose]();
  return null;
}

function openLockable(path: string): Disposable & { readonly fd: number } {
  try {
    const fd = openEither(path);
    return { fd, [Symbol.dispose]: () => closeSync(fd) };
  } catch (error) {
    throw ioError(error, "open", path);
  }
}

/** Whoever may only read can still take a shared lock. */
function openEither(path: string): number {
  try {
    return openOrMake(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "EROFS" && code !== "EACCES" && code !== "EPERM") throw error;
    return openSync(path, "r");
  }
}

async function until(isSo: () => boolean, waitMs: number, late: () => HoldfastError): Promise<void> {
  if (!(await isSoWithin(waitMs, isSo))) throw late();
}

async function isSoWithin(waitMs: number, isSo: () => boolean): Promise<boolean> {
  const startedAt = performance.now();
  while (!isSo()) {
    if (performance.now() - startedAt > waitMs) return false;
    await sleep(PAUSE_MS);
  }
  return true;
}

function stuck(path: string): HoldfastError {
  return new HoldfastError(
    "E_STORE_UNAVAILABLE",
    `${path} was not free for ${PATIENCE_MS / 1000} s: does a gc not end?`,
    { reason: "busy" },
  );
}

function busy(): HoldfastError {
  return new HoldfastError("E_LOCK_CONFLICT", "a snapshot or restore is running, so nothing is removed now", {
    next: ["Try again when it has ended, or wait for it: `holdfast gc --wait 10m`."],
  });
}

/** Says by a kernel lock that this process works on it. Null when another one does. */
export function tryMark(path: string): Disposable | null {
  const mark = openLockable(path);
  if (tryLockExclusive(mark.fd)) return mark;
  mark[Symbol.dispose]();
  return null;
}
