import assert from "node:assert/strict";
import { refusal } from "../expect.fixture.js";
import { type Chapter, needing } from "../test-store.fixture.js";

/** What all clients of a store have to agree on. */
export const settings: Chapter = {
  async "LOCK-11: the level list is on record, and a caller with another gets E_CONFIG"(bench) {
    const a = await bench.client({ levels: ["country", "city"] });
    await bench.client({ levels: ["country", "city"] });
    const silent = await bench.client();
    for (const levels of [["city", "country"], ["country"], [], ["project", "map", "sketch"]]) {
      const error = await refusal(bench.client({ levels }), "E_CONFIG");
      assert.deepEqual(error.details.recorded, ["country", "city"]);
    }
    await a.acquire("country:c");
    const held = await silent.acquire("city:c");
    await refusal(held.acquire("country:c"), "E_LOCK_ORDER");
  },

  async "STALE-1: so are the profiles, in whatever order they are stated"(bench) {
    await bench.client({ profiles: { "a:": "lease", "b:": "strict" } });
    await bench.client({ profiles: { "b:": "strict", "a:": "lease" } });
    const silent = await bench.client();
    assert.equal((await silent.inspect("b:x")).profile, "strict");
    assert.equal((await silent.inspect("worktree:w")).profile, "default");
    for (const profiles of [{}, { "a:": "lease" }, { "a:": "lease", "b:": "dal" }] as const)
      await refusal(bench.client({ profiles }), "E_CONFIG");
  },

  async "STORE-5: they outlive the clients that stated them"(bench) {
    if (bench.store.isVolatile) return;
    const first = await bench.client({ levels: ["one"], profiles: { "a:": "strict" } });
    await first.acquire("kept", { detached: true, ttl: "1h" });
    await bench.closeAll();
    await refusal(bench.client({ levels: ["two"] }), "E_CONFIG");
    const second = await bench.client({ levels: ["one"] });
    assert.equal((await second.inspect("a:x")).profile, "strict");
    assert.equal((await second.list()).length, 1);
    assert.equal((await second.audit.verify()).ok, true);
  },

  async "STORE-5: many that open a new store at once agree on one set"(bench) {
    const tries = await Promise.allSettled(
      ["one", "two", "three", "four", "five", "six"].map((level) => bench.client({ levels: [level] })),
    );
    const opened = tries.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
    const codes = tries.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason.code] : []));
    assert.equal(opened.length, 1);
    assert.deepEqual(new Set(codes), new Set(["E_CONFIG"]));
    assert.ok(await opened[0]?.acquire("k"));
  },

  async "STORE-5: nonsense is refused before anything is recorded"(bench) {
    for (const bad of [
      { levels: ["a b"] },
      { levels: ["a", "a"] },
      { levels: "project" as unknown as string[] },
      { profiles: { "": "lease" } as const },
      { profiles: { "a:": "never" as "lease" } },
      { order: "loose" as "free" },
      { heart: "none" as "loop" },
      { ttl: 1 },
      { wait: -1 },
      { heartbeat: 0 },
      { grace: "x" },
    ])
      await refusal(bench.client(bad), "E_INVALID_ARGUMENT");
    await bench.client({ levels: ["fine"] });
  },

  "STORE-5: a store of a newer schema is refused and left alone": needing("outdate", async (bench) => {
    const [a] = await bench.two();
    await a.acquire("k", { detached: true, ttl: "1h" });
    await bench.closeAll();
    await bench.store.outdate?.(bench.url);
    const error = await refusal(bench.client(), "E_FORMAT_UNSUPPORTED");
    assert.match(error.message, /version/);
    await refusal(bench.client({ levels: ["another"] }), "E_FORMAT_UNSUPPORTED");
  }),
};
