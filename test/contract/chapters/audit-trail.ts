import assert from "node:assert/strict";
import type { AuditEntry } from "../../../src/index.js";
import { eventsOf, until } from "../expect.fixture.js";
import { type Chapter, needing } from "../test-store.fixture.js";

/** Reading the record of what happened, and whether it is whole. */
export const auditTrail: Chapter = {
  async "AUDIT-4: entries are found by resource, owner, event and time"(bench) {
    const [a, b] = await bench.two();
    const nextMoment = async (): Promise<Date> => {
      const before = Date.now();
      await until("the clock moves on", () => Date.now() > before);
      return new Date();
    };
    await (await a.acquire("t/x")).release();
    const since = await nextMoment();
    await nextMoment();
    await (await b.acquire("t/x/y", { mode: "read" })).release();
    await nextMoment();
    await (await b.acquire("tt")).release();
    const list = async (filter: Parameters<typeof b.audit.list>[0]) => eventsOf(await b.audit.list(filter));
    assert.equal((await list({})).length, 6);
    assert.deepEqual(await list({ resource: "t/x" }), [
      "granted t/x",
      "released t/x",
      "granted t/x/y",
      "released t/x/y",
    ]);
    assert.deepEqual(await list({ resource: "t/x/y" }), ["granted t/x/y", "released t/x/y"]);
    assert.deepEqual(await list({ owner: a.owner }), ["granted t/x", "released t/x"]);
    assert.deepEqual(await list({ event: "granted", resource: "t" }), ["granted t/x", "granted t/x/y"]);
    assert.deepEqual(await list({ since, event: "released" }), ["released t/x/y", "released tt"]);
    assert.deepEqual(await list({ until: since }), ["granted t/x", "released t/x"]);
    assert.deepEqual(await list({ limit: 2 }), ["granted t/x", "released t/x"]);
    assert.deepEqual(await list({ resource: "nothing" }), []);
  },

  async "AUDIT-4: follow yields entries as they come, from now or from the start"(bench) {
    const [a, b] = await bench.two();
    await (await a.acquire("t/x")).release();
    const stop = new AbortController();
    const read = async (fromStart: boolean, seen: AuditEntry[]): Promise<void> => {
      for await (const entry of b.audit.follow({ signal: stop.signal, fromStart, resource: "t" })) seen.push(entry);
    };
    const [all, fresh]: [AuditEntry[], AuditEntry[]] = [[], []];
    const reading = Promise.all([read(true, all), read(false, fresh)]);
    await until("both readers stand", async () => {
      await (await a.acquire("t/y")).release();
      return all.length > 0 && fresh.length > 0;
    });
    await (await a.acquire("other/key")).release();
    await (await a.acquire("t/last")).release();
    const written = await a.audit.list({ resource: "t" });
    for (const seen of [all, fresh])
      await until("everything has come", () => seen.at(-1)?.hash === written.at(-1)?.hash);
    stop.abort();
    await reading;
    assert.deepEqual(all, written);
    assert.deepEqual(fresh, written.slice(-fresh.length));
    assert.deepEqual(eventsOf(written.slice(0, 2)), ["granted t/x", "released t/x"]);
    assert.ok(fresh.length <= written.length - 2, "what was there before is not told by who starts from now");
  },

  // kills: audit-hash-sqlite (sqlite), audit-hash-file (file)
  "AUDIT-2: an edited, deleted or cut entry is found and named": needing("tamper", async (bench) => {
    const [a] = await bench.two();
    for (const tree of ["edit", "delete", "cut", "whole"])
      for (const key of ["x", "y", "z"]) await (await a.acquire(`${tree}/${key}`)).release();
    await bench.closeAll();
    for (const how of ["edit", "delete", "cut"] as const) await bench.store.tamper?.(bench.url, how, how, 4);
    const b = await bench.client();
    for (const tree of ["edit", "delete", "cut"]) {
      const verdict = await b.audit.verify({ resource: tree });
      assert.equal(verdict.ok, false, tree);
      assert.deepEqual(
        verdict.bad.map((bad) => [bad.tree, bad.seq]),
        [[tree, 4]],
      );
    }
    assert.deepEqual(await b.audit.verify({ resource: "whole" }), { ok: true, chains: 1, entries: 6, bad: [] });
    assert.equal((await b.audit.verify()).bad.length, 3);
  }),

  "an entry that cannot be read is shown as damaged by every reader, and hides none before it": needing(
    "tamper",
    async (bench) => {
      const [a] = await bench.two();
      for (const key of ["x", "y", "z"]) await (await a.acquire(`t/${key}`)).release();
      const before = await a.audit.list();
      await bench.closeAll();
      await bench.store.tamper?.(bench.url, "t", "ruin", 4);
      const b = await bench.client();
      const list = await b.audit.list();
      assert.deepEqual(list.slice(0, 3), before.slice(0, 3));
      assert.deepEqual(
        list.map(({ seq }) => seq),
        [1, 2, 3, 4, 5, 6],
      );
      const damaged = list[3];
      assert.deepEqual([damaged?.event, damaged?.resource, damaged?.owner], ["damaged", "t", ""]);
      assert.equal(typeof damaged?.details.reason, "string");
      assert.deepEqual(await b.audit.recent(), list);
      assert.deepEqual((await b.audit.list({ resource: "t" })).at(3), damaged);
      assert.deepEqual(eventsOf(await b.audit.list({ event: "granted" })).slice(0, 2), ["granted t/x", "granted t/y"]);
      const followed: AuditEntry[] = [];
      for await (const entry of b.audit.follow({ fromStart: true })) if (followed.push(entry) === list.length) break;
      assert.deepEqual(followed, list);
      await (await b.acquire("t/more")).release();
      assert.deepEqual(eventsOf((await b.audit.list()).slice(-2)), ["granted t/more", "released t/more"]);
      assert.deepEqual(
        (await b.audit.verify()).bad.map(({ tree, seq }) => [tree, seq]),
        [["t", 4]],
      );
    },
  ),
};
