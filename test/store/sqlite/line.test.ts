/** The rows of a line that somebody else has written: an earlier version that still runs, or other hands. */
import { describe, expect, it } from "vitest";
import type { Key } from "../../../src/lock/key.js";
import type { Answer, Store } from "../../../src/store/contract.js";
import { acquireRequest, PARTY } from "../acquire-request.js";
import { acquire, newPlace, open, openRaw, type RawDatabase, release, stillClock } from "./scene.js";

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
const waiting = (raw: RawDatabase) => raw.prepare("SELECT waiting FROM trees").get()?.waiting;

/** Written and refreshed as by version 4, which had no column for the number. */
function writeAsBefore(raw: RawDatabase, ticketId: string): void {
  const { ticket = null } = raw.prepare("SELECT ticket FROM tickets WHERE ticket_id = ?").get(ticketId) ?? {};
  raw.prepare("DELETE FROM tickets WHERE ticket_id = ?").run(ticketId);
  const put = raw.prepare("INSERT OR REPLACE INTO tickets (resource, ticket_id, ticket) VALUES (?, ?, ?)");
  for (let time = 0; time < 2; time += 1) put.run(KEY, ticketId, ticket);
}

describe("a line that an earlier version stands in too", () => {
  it("LOCK-12: is counted right when its places lapse, and serves whoever stays", async () => {
    const place = newPlace();
    const clock = stillClock();
    const store = await open(place, clock);
    const raw = openRaw(place);
    const held = await acquire(store, KEY, { tokenHash: "holder" });
    await queue(store, "first");
    writeAsBefore(raw, await queue(store, "old"));
    expect(raw.prepare("SELECT number FROM tickets").all()).toEqual([{ number: 1 }, { number: 2 }]);
    clock.forward(1_500);
    const stays = await queue(store, "stays");
    clock.forward(1_000);
    for (let time = 0; time < 3; time += 1) await waitAs(store, "stays", stays);
    expect(await owners(store)).toEqual(["agent:stays"]);
    expect([rows(raw), waiting(raw)]).toEqual([1, 1]);
    await release(store, held);
    expect(await waitAs(store, "stays", stays)).toMatchObject({ kind: "granted" });
    expect([rows(raw), waiting(raw)]).toEqual([0, 0]);
  });
});

describe("a row that cannot be read", () => {
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
