import { beforeAll, describe, expect, it } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const CLIENTS = 8;
const ROUNDS = 15;

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

describe("a race for a free key", () => {
  // kills: postgres-guard
  it("LOCK-2: one gets it, the others hear of a conflict, and of nothing else", async () => {
    const url = await newPostgresStore(server);
    const clients = await Promise.all(
      Array.from({ length: CLIENTS }, (_, at) => openHoldfast({ store: url, owner: `agent:${at}`, heart: "loop" })),
    );
    await clients[0]?.acquire("t/first");
    const seen = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const tries = await Promise.allSettled(clients.map((client) => client.acquire(`t/${round}`, { wait: 0 })));
      expect(tries.filter((each) => each.status === "fulfilled")).toHaveLength(1);
      for (const each of tries) if (each.status === "rejected") seen.add(each.reason.code);
    }
    expect([...seen]).toEqual(["E_LOCK_CONFLICT"]);
    for (const client of clients) await client.close();
  }, 240_000);
});
