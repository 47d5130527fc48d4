/** The questions that the tests of the contract ask again and again. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import {
  type AcquireOptions,
  type AuditEntry,
  type Contention,
  type ErrorCode,
  type Holdfast,
  HoldfastError,
  type Lease,
} from "../../src/index.js";

/** Far beyond anything that should take place, so that a busy machine fails no test. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 10;

/** The shortest lease there is, taken so that nobody renews it. */
export const SHORT = { ttl: "1s", detached: true } as const;

/** Nobody renews it either, and however slow the machine is, it lasts until the test makes it run out. */
export const LONG = { ttl: "1h", detached: true } as const;

/** Turns a long lease into the shortest there is. */
export async function shorten(lease: Lease): Promise<void> {
  await lease.renew(SHORT.ttl);
}

/** The error, which has to have this code. */
export async function refusal(action: Promise<unknown>, code: ErrorCode): Promise<HoldfastError> {
  try {
    await action;
  } catch (error) {
    assert.ok(error instanceof HoldfastError, `expected ${code}, got ${String(error)}`);
    assert.equal(error.code, code, error.message);
    return error;
  }
  assert.fail(`expected ${code}, but it succeeded`);
}

export async function contentionOf(action: Promise<unknown>, code: ErrorCode = "E_LOCK_CONFLICT"): Promise<Contention> {
  return (await refusal(action, code)).details.contention as Contention;
}

/** Whether a stranger would get it this moment; gives it back at once. */
export async function isFree(
  client: Holdfast,
  keys: string | readonly string[],
  options: AcquireOptions = {},
): Promise<boolean> {
  const lease = await client.tryAcquire(keys, options);
  await lease?.release();
  return lease !== null;
}

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedAt > PATIENCE_MS) assert.fail(`waited in vain: ${what}`);
    await pause(LOOK_EVERY_MS);
  }
}

export const ATTEMPTS = 8;

/**
 * Tries a proof that only a machine lets come to its end that does not stand still for longer than a lease or a place in
 * line lasts: with one key after the other, until it was not disturbed.
 */
export async function undisturbed(
  prove: (key: string, attempt: number) => Promise<"shown" | "disturbed">,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1)
    if ((await prove(`k${attempt}`, attempt)) === "shown") return;
  assert.fail(`disturbed in each of ${ATTEMPTS} attempts`);
}

/** Whether the lease could be made longer before it ran out. */
export async function prolonged(lease: Lease): Promise<boolean> {
  try {
    await lease.renew("1h");
    return true;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "E_LOCK_EXPIRED") return false;
    throw error;
  }
}

/** Looks at a lease that is kept alive, until it was renewed after that time or is lost, and lets nobody in meanwhile. */
export async function untilRenewedOrLost(lease: Lease, other: Holdfast, after: string): Promise<void> {
  const [key = ""] = lease.keys;
  await until(`${key} is renewed`, async () => {
    const wasFree = await isFree(other, key);
    if (lease.state === "lost") return true;
    assert.equal(wasFree, false, "taken from a holder that trusts it");
    const [record] = (await other.inspect(key)).grants;
    return record !== undefined && record.last_renewed_at > after;
  });
}

export async function untilWaiting(client: Holdfast, key: string, count: number): Promise<void> {
  await until(`${count} in line for ${key}`, async () => (await client.inspect(key)).waiters.length === count);
}

/** When the store, too, sees that the leases on this key have run out. */
export async function untilExpired(client: Holdfast, key: string): Promise<void> {
  await until(`${key} expires`, async () => (await client.inspect(key)).state === "expired");
}

/** When the time in the records of this lease, which nobody renews, has passed. */
export async function untilLapsed(lease: Lease): Promise<void> {
  const last = Math.max(...lease.grants.map((record) => Date.parse(record.lease_expires_at)));
  await pause(Math.max(0, last - Date.now()) + 2 * LOOK_EVERY_MS);
}

/** The reason of the lease's abort signal, once it has aborted. */
export async function lossOf(lease: Lease): Promise<HoldfastError> {
  const { signal } = lease;
  await until(`${lease.keys.join()} is lost`, () => signal.aborted);
  assert.ok(signal.reason instanceof HoldfastError, `reason: ${String(signal.reason)}`);
  return signal.reason;
}

/** Two promises in the order they are settled in. */
export function inOrder(): { readonly seen: string[]; note(name: string): <T>(value: T) => T } {
  const seen: string[] = [];
  return {
    seen,
    note: (name) => (value) => {
      seen.push(name);
      return value;
    },
  };
}

/** Audit entries in short. */
export function eventsOf(entries: readonly AuditEntry[]): string[] {
  return entries.map((entry) => `${entry.event} ${entry.resource}`);
}
