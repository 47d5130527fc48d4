/**
 * Looking at those who wait. A waiter that was not heard of for two seconds has lost its place and takes a new one, so on a
 * machine that stood still meanwhile nothing follows from what was seen. Places are therefore compared before and after: a
 * place taken anew has another number or another beginning.
 */
import assert from "node:assert/strict";
import type { Holdfast, Lease } from "../../src/index.js";
import { ATTEMPTS, until, untilWaiting } from "./expect.fixture.js";

/** Who stands in line for a key, first come first. */
export async function placesFor(client: Holdfast, key: string): Promise<string[]> {
  const { waiters } = await client.inspect(key);
  return waiters.map(({ ticket_id, number, waiting_since }) => `${ticket_id} ${number} ${waiting_since}`);
}

/** Looks while so many wait for a key, and once more when one of them lost its place meanwhile. */
export async function whileWaiting(
  client: Holdfast,
  key: string,
  count: number,
  look: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await untilWaiting(client, key, count);
    const before = await placesFor(client, key);
    try {
      return await look();
    } catch (error) {
      const after = await placesFor(client, key);
      if (attempt === ATTEMPTS || (before.length === count && before.join() === after.join())) throw error;
    }
  }
}

/** Asks one after the other, each when the one before stands in line. The places, or null when one of them was lost. */
export async function lineUp(
  lookout: Holdfast,
  key: string,
  requests: readonly (() => Promise<Lease>)[],
): Promise<{ readonly places: string[] | null; readonly asked: Promise<Lease>[] }> {
  const asked: Promise<Lease>[] = [];
  const places: string[] = [];
  for (const request of requests) {
    asked.push(request());
    await untilWaiting(lookout, key, asked.length);
    const newcomers = (await placesFor(lookout, key)).filter((place) => !places.includes(place));
    places.push(...newcomers);
  }
  const now = await placesFor(lookout, key);
  return { asked, places: now.join() === places.join() && now.length === asked.length ? places : null };
}

/** Lets requests for a key queue up and, once `first` is released, sees each served when all before it were. */
export async function servedInOrder(
  lookout: Holdfast,
  key: string,
  first: Lease,
  requests: readonly (() => Promise<Lease>)[],
): Promise<"shown" | "disturbed"> {
  const { asked, places } = await lineUp(lookout, key, requests);
  const served: number[] = [];
  const leases = asked.map((lease, at) =>
    lease.then((mine) => {
      served.push(at);
      return mine;
    }),
  );
  let last = first;
  let verdict: "shown" | "disturbed" = places === null ? "disturbed" : "shown";
  for (let turn = 0; turn < leases.length; turn += 1) {
    const ahead = places?.slice(turn) ?? [];
    if ((await placesFor(lookout, key)).join() !== ahead.join()) verdict = "disturbed";
    await last.release();
    await until(`turn ${turn + 1} of ${key}`, () => served.length > turn);
    const at = served[turn] ?? 0;
    if (at !== turn && verdict === "shown") {
      const stillThere = (await placesFor(lookout, key)).includes(ahead[0] ?? "");
      assert.ok(!stillThere, `request ${at + 1} was served before request ${turn + 1}`);
      verdict = "disturbed";
    }
    last = (await leases[at]) ?? last;
  }
  await last.release();
  return verdict;
}
