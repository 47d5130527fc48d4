/** The rows of a line that something else than the store has changed. */
import { describe, expect, it } from "vitest";
import type { Key } from "../../../../src/lock/key.js";
import type { Answer, Store } from "../../../../src/store/contract.js";
import {
  acquire,
  newPlace,
  open,
  openRaw,
  type RawDatabase,
  release,
  stillClock,
} from "../../../fixtures/sqlite/database.fixture.js";
import { acquireRequest, PARTY } from "../../../fixtures/store/acquire-request.fixture.js";

const KEY = "shop" as Key;

const waitAs = (store: Store, name: string, ticketId: string | null = null): Promise<Answer> =>
  store.locks.acquire(
    acquireRequest(KEY, { party: { ...PARTY, owner: `agent:${name}` }, tokenHash: name, waitMs: 600_000, ticketId }),
  );

async function queue(store: Store, name: string): Promise<string> {
  const answer = await waitAs(store, name);
  if (answer.kind !== "queued") throw new Error(`it is ${answer.kind}`);
  return answer.ticketId;
}

const owners = async (store: Store) => (await store.reader.inspect(KEY)).waiters.map(({ owner }) => owner);
const rows = (raw: RawDatabase) => raw.prepare("SELECT count(*) AS count FROM tickets").get()?.count;

describe("a row that cannot be read", () => {
  // kills: row-beside-unreadable
  it("LOCK-12: costs its waiter the place once, not with every look", async () => {
    const place = newPlace();
    const clock = stillClock();
    const [store, other] = [await open(place, clock), await open(place, clock)];
    const raw = openRaw(place);
    const held = await acquire(store, KEY, { tokenHash: "holder" });
    const ticketId = await queue(store, "first");
    await queue(store, "second");
    raw.prepare("UPDATE tickets SET ticket = 'torn' WHERE ticket_id = ?").run(ticketId);
    for (const asked of [store, other, store, other]) await waitAs(asked, "first", ticketId);
    expect(await owners(store)).toEqual(["agent:second", "agent:first"]);
    expect(rows(raw)).toBe(3);
    await release(store, held);
    expect(await waitAs(store, "first", ticketId)).toMatchObject({ kind: "queued", ahead: 1 });
  });
});
