/** Runs work under a lease that is given back when the work is over. */
import type { Lease } from "./lease.js";

/** A failure of the work is what the caller hears, also when the lease could not be given back after it. */
export async function releasedAfter<T>(lease: Lease, work: () => T | Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await lease.release().catch(() => undefined);
    throw error;
  }
  await lease.release();
  return result;
}
