/** A holder that died a moment ago: who waits does not ask about it at once, and who would be refused does. */
import { beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_SETTINGS } from "../../../src/lock/settings.js";
import type { AcquireRequest, Store } from "../../../src/store/contract.js";
import { createLocalStore } from "../../../src/store/local/local-store.js";
import { createMemoryLedger } from "../../../src/store/memory/ledger.js";
import { key, surroundings } from "../../fixtures/lock/samples.fixture.js";
import { acquireRequest } from "../../fixtures/store/acquire-request.fixture.js";

let store: Store;
let nowMs: number;
beforeEach(() => {
  nowMs = 1_000_000;
  const clock = () => ({ wallMs: nowMs, bootMs: nowMs, bootId: "boot", machineId: "machine" });
  store = createLocalStore(createMemoryLedger("memory:just-seen", DEFAULT_SETTINGS, clock), surroundings("dead"));
});

const ask = (resource: string, change: Partial<AcquireRequest> = {}) =>
  store.locks.acquire(acquireRequest(resource, change));

/** A client of its own that holds `map:z`, as it shows with a request. */
async function asClient(): Promise<Partial<AcquireRequest>> {
  const tokenHash = "hash of another token";
  await ask("map:z", { tokenHash });
  return { tokenHash, presented: [{ resource: key("map:z"), tokenHash }], waitMs: 5_000 };
}

const wants = (permits: number | null): Pick<AcquireRequest, "wants"> => ({
  wants: [{ resource: key("map:a"), mode: "write", permits }],
});

describe("a holder that was seen a moment ago and is dead", () => {
  it("STALE-2: is not asked about by one that waits, until the moment is over", async () => {
    await ask("map:a");
    const request = { tokenHash: "hash of another token", waitMs: 5_000 };
    nowMs += 99;
    const answer = await ask("map:a", request);
    if (answer.kind !== "queued") throw new Error(`${answer.kind}, where it should wait`);
    nowMs += 1;
    const { ticketId } = answer;
    expect(await ask("map:a", { ...request, ticketId })).toMatchObject({ kind: "granted", ended: [{}] });
  });

  // kills: refused-patiently
  it.each([
    ["its key sorts before what is held", null, null],
    ["its semaphore is wanted as a plain lock", 3, null],
    ["its plain lock is wanted as a semaphore", null, 3],
    ["its semaphore is wanted with other permits", 3, 4],
  ])("STALE-2: is no reason to refuse one that would wait, where %s", async (_, had, wanted) => {
    const client = await asClient();
    await ask("map:a", wants(had));
    const answer = await ask("map:a", { ...client, ...wants(wanted) });
    expect(answer).toMatchObject({ kind: "granted", ended: [{ resource: "map:a" }] });
  });
});
