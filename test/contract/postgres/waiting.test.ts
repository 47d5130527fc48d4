import { beforeAll, expect, it, onTestFinished } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { examineStore } from "../../../src/store/open.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

const hold = (keys: string) => `select holdfast.acquire('{${keys}}', 'agent:holder', lease_ms => 600000)`;
const queue = (name: string, keys: string) =>
  `select holdfast.acquire('{${keys}}', 'agent:${name}', wait_ms => 600000)`;
/** As if all in line had shown themselves just now, however slow the machine is, but for one who is gone. */
const seen = `update holdfast.tickets set offer = '{"token_hash":"secret"}',
  refreshed_ms = holdfast.now_ms() + case owner when 'agent:gone' then -2000 else 50000 end`;

// kills: waits-told-twice
it("LOCK-13: who waits is told tree by tree, in the order of the line, once, and no more than asked for", async () => {
  const url = await newPostgresStore(server);
  const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
  onTestFinished(() => holdfast.close());
  expect(await holdfast.waits()).toEqual({ holders: [], waiters: [] });
  await administer(
    url,
    hold("a,a-b,b"),
    queue("gone", "a"),
    queue("one", "b"),
    queue("two", "a/x"),
    queue("three", "a-b/x,b"),
    queue("four", "a"),
    queue("five", "a-b"),
    queue("six", "b"),
    seen,
  );
  const all = ["two 1", "four 2", "three 1", "five 2", "one 1", "six 3"].map((each) => `agent:${each}`);
  const examination = await examineStore(url);
  const places = await examination?.reader.waiting(3);
  await examination?.close();
  expect(places?.map(({ owner }) => owner)).toEqual(["agent:gone", "agent:two", "agent:four"]);
  expect(JSON.stringify(places)).not.toContain("secret");
  for (const limit of [1, 2, 3, 5, 6, 7]) {
    const { waiters } = await holdfast.waits({ limit });
    expect(waiters.map(({ owner, position }) => `${owner} ${position}`)).toEqual(all.slice(0, limit));
  }
  const { holders, waiters } = await holdfast.waits();
  expect(holders.map(({ resource, state }) => `${resource} ${state}`)).toEqual(["a held", "a-b held", "b held"]);
  expect(waiters[2]?.waits_for.map(({ kind, resource }) => `${kind} ${resource}`)).toEqual([
    "holder a-b",
    "holder b",
    "waiter b",
  ]);
});

it("STORE-5: a store that was not migrated yet says how to get what tells who waits", async () => {
  const url = await newPostgresStore(server);
  const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
  onTestFinished(() => holdfast.close());
  await administer(url, "drop function holdfast.waiting");
  await expect(holdfast.waits()).rejects.toMatchObject({
    code: "E_STORE_UNAVAILABLE",
    next: [expect.stringContaining("holdfast migrate")],
  });
});
