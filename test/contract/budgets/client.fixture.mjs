// Does what the budgets are about, one operation after the other, in a process of its own: STORE FOLDER, where STORE is a URL
// and FOLDER takes what is published. At the end it prints what counter.fixture.mjs counted in each, where that was loaded.
//
// Each operation stands between two marks that a tracer sees as system calls, and a parent process as messages, which it
// answers: so it has read its own counts before the operation goes on.
import { once } from "node:events";
import { accessSync } from "node:fs";
import { join } from "node:path";
import { kernelOf } from "../../../dist/client/kernel.js";
import { round } from "../../../dist/features/jobs/scripts/round.js";
import { openHoldfast } from "../../../dist/index.js";
import { openJobs } from "../../../dist/jobs.js";
import { newLeaseToken } from "../../../dist/lock/lease-token.js";
import { createSystemClock } from "../../../dist/platform/clock.js";
import { publish } from "../../../dist/publish.js";
import { openStore } from "../../../dist/store/open.js";

const [store, folder] = process.argv.slice(2);
const party = { owner: "service:budget", holderId: "h:u:1:1", nonce: "0".repeat(32), proof: { kind: "none" } };
const [HASH, OTHER_HASH] = ["a".repeat(64), "b".repeat(64)];
const counts = globalThis[Symbol.for("holdfast.test.budget")] ?? {};
const found = {};

async function measure(name, operation) {
  await mark("begin", name);
  const before = { ...counts };
  const result = await operation();
  found[name] = Object.fromEntries(Object.entries(counts).map(([each, count]) => [each, count - before[each]]));
  await mark("end", name);
  return result;
}

async function mark(moment, name) {
  try {
    accessSync(`/holdfast-budget/${moment}/${name}/`);
  } catch {
    // There is no such path. The call is what counts.
  }
  if (process.send === undefined) return;
  const answer = once(process, "message");
  process.send({ moment, name });
  await answer;
}

// The renewals stay in this thread, where none is due so soon; a thread of its own would be at work at any moment.
const holdfast = await openHoldfast({ store, owner: "service:budget", heart: "loop", ttl: "1h" });
for (const which of ["first ", ""]) {
  const lease = await measure(`${which}acquire`, () => holdfast.acquire("shop"));
  await measure(`${which}commit`, () => lease.commit(() => undefined));
  await measure(`${which}release`, () => lease.release());
}

/** By then a waiter's ticket is due to be refreshed. */
const LATER_MS = 1_000;
const [system, ahead] = [createSystemClock(), { ms: 0 }];
const clock = () => {
  const now = system();
  return { ...now, wallMs: now.wallMs + ahead.ms, bootMs: now.bootMs + ahead.ms };
};
const { locks, close: closeStore } = await openStore(store, {}, clock);
const request = (tokenHash, ticketId = null) => ({
  ...{ tokenHash, ticketId, party, detached: true, leaseMs: 60_000, graceMs: null, metadata: {}, presented: [] },
  ...{ wants: [{ resource: "shop", mode: "write", permits: null }], waitMs: 60_000, strictOrder: false },
  mustSteal: false,
});
const unmeasured = (_name, operation) => operation();
for (const each of [unmeasured, measure]) {
  const { grants } = await each("detached acquire", () => locks.acquire(request(HASH)));
  const { ticketId } = await each("detached acquire, queued", () => locks.acquire(request(OTHER_HASH)));
  ahead.ms += LATER_MS;
  await each("detached acquire, polled", () => locks.acquire(request(OTHER_HASH, ticketId)));
  await locks.leave(ticketId, request(OTHER_HASH).wants, party, null);
  await each("detached release", () => locks.release(grants, party));
}
await closeStore();

const lease = await holdfast.acquire("out");
for (const which of ["first ", ""])
  await measure(`${which}publish`, () =>
    publish(lease, join(folder, "out"), async (stage) => {
      await stage.write("file", which);
    }),
  );
await lease.release();

if (!store.startsWith("file:")) {
  const jobs = openJobs(holdfast);
  const { requester, scripts } = kernelOf(holdfast);
  const worker = { worker: "w", node: "n", has: ["kind:k"], concurrency: 1, room: 1, leaseMs: 60_000, inHand: [] };
  const of = { ...worker, party: requester, newToken: newLeaseToken };
  let settlements = [];
  for (const which of ["first ", ""]) {
    await measure(`${which}job added`, () => jobs.enqueue("k", null, { project: "p" }));
    // Settles the job of the round before, and starts the one that was added.
    const { taken } = await measure(`${which}job round`, () =>
      scripts.run(() => round(settlements, of, requester), { durable: false }),
    );
    settlements = taken.runs.map(({ job, fence }) => ({ job: job.id, fence, ending: { kind: "done", result: null } }));
    if (settlements.length !== 1) throw new Error(`${settlements.length} jobs were started, not 1`);
  }
}
await holdfast.close();
process.stdout.write(`${JSON.stringify(found)}\n`);
if (process.send !== undefined) process.disconnect();
