import assert from "node:assert/strict";
import type { AuditEntry } from "../../../src/index.js";
import { contentionOf, isFree, LONG, refusal, SHORT, shorten, untilExpired } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** What every entry about an ended grant says. */
const RECOVERY_DETAILS = ["reason", "previous", "old_fencing_token", "new_fencing_token"];

function assertTellsAll(entry: AuditEntry | undefined, by: string, previous: object, metadata: object): void {
  assert.ok(entry);
  assert.equal(entry.owner, by);
  for (const name of RECOVERY_DETAILS) assert.ok(name in entry.details, `${entry.event} tells ${name}`);
  const told = entry.details.previous as Record<string, unknown>;
  for (const [name, value] of Object.entries(previous)) assert.equal(told[name], value, name);
  assert.deepEqual(told.metadata, metadata);
  const [older, newer] = [entry.details.old_fencing_token, entry.details.new_fencing_token] as [number, number];
  assert.ok(newer > older, "a higher token");
}

/** Recovery, steal and break. */
export const stale: Chapter = {
  async "STALE-3: however many find a stale grant at once, exactly one takes it"(bench) {
    const [dead, ...clients] = await bench.many(9);
    assert.ok(dead);
    for (const how of ["steal", "acquire"] as const) {
      await dead.acquire(how, SHORT);
      await untilExpired(dead, how);
      const tries = await Promise.allSettled(
        clients.map((client) => (how === "steal" ? client.steal(how) : client.acquire(how, { wait: 0 }))),
      );
      assert.equal(tries.filter((attempt) => attempt.status === "fulfilled").length, 1);
      const codes = tries.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason.code] : []));
      assert.deepEqual(new Set(codes), new Set(["E_LOCK_CONFLICT"]));
      assert.equal((await dead.audit.list({ resource: how, event: "stolen" })).length, 1);
    }
  },

  async "STALE-3: of many waiters for a stale grant each gets it once, in turn"(bench) {
    const [dead, ...clients] = await bench.many(5);
    assert.ok(dead);
    await dead.acquire("k", SHORT);
    let inside = 0;
    await Promise.all(
      clients.map((client) =>
        client.withLock("k", {}, async (lease) => {
          inside += 1;
          assert.equal(inside, 1);
          await lease.verify();
          inside -= 1;
        }),
      ),
    );
    assert.equal((await dead.audit.list({ event: "stolen" })).length, 1);
  },

  async "STALE-4: an acquire that meets a recoverable grant steals, with a higher token and on record"(bench) {
    const [a, b] = await bench.two();
    const old = await a.acquire("t/x", { ...SHORT, metadata: { run: 7 } });
    await untilExpired(b, "t");
    const lease = await b.acquire("t", { wait: 0 });
    assert.ok(lease.fencingToken > old.fencingToken);
    const [stolen] = await b.audit.list({ event: "stolen" });
    assertTellsAll(stolen, b.owner, { owner: a.owner, holder_id: old.grants[0]?.holder_id, mode: "write" }, { run: 7 });
    assert.equal(stolen?.lock_id, old.grants[0]?.lock_id);
    assert.equal(stolen?.details.reason, "lease_expired");
    assert.equal(stolen?.details.by_lock_id, lease.grants[0]?.lock_id);
    const evidence = stolen?.details.evidence as { life: string; expired_for_ms: number };
    assert.ok(evidence.life === "unknown" && evidence.expired_for_ms >= 0);
    await old.release();
    await lease.verify();
  },

  async "STALE-4: it ends every conflicting recoverable grant in the tree, and no other"(bench) {
    const [a, b] = await bench.two();
    for (const key of ["t/1", "t/2/x", "u/1"]) await a.acquire(key, SHORT);
    await a.acquire("t/3", { ...SHORT, mode: "read" });
    await untilExpired(b, "t");
    await b.acquire("t/2", { wait: 0, mode: "upgradeable" });
    assert.deepEqual(
      (await b.list({ prefix: "t" })).map((record) => record.resource),
      ["t/1", "t/2", "t/3"],
    );
    const whole = await bench.client();
    await refusal(whole.acquire("t", { wait: 0 }), "E_LOCK_CONFLICT");
    assert.equal((await b.list({ prefix: "t" })).length, 3, "a refused request ends nothing");
    await whole.acquire("u", { wait: 0 });
    assert.equal((await b.audit.list({ event: "stolen" })).length, 2);
  },

  async "STALE-4: steal takes only what is recoverable"(bench) {
    const [a, b] = await bench.two();
    await refusal(b.steal("k"), "E_NOT_FOUND");
    const lease = await a.acquire("k", LONG);
    assert.equal((await contentionOf(b.steal("k"))).owner, a.owner);
    assert.equal(lease.state, "held");
    await shorten(lease);
    await untilExpired(b, "k");
    const stolen = await b.steal("k", { metadata: { after: "a" } });
    assert.ok(stolen.fencingToken > lease.fencingToken);
    assert.deepEqual(await a.list(), stolen.grants);
  },

  async "STALE-5: recovery ends what is recoverable on a key and below it, and leaves the rest"(bench) {
    const [a, b] = await bench.two();
    const old = await a.acquire("t/x", { ...SHORT, metadata: { run: 7 } });
    const live = await a.acquire("t/y");
    await untilExpired(b, "t/x");
    assert.deepEqual(await b.recover("t/x/below"), []);
    const ended = await b.recover("t");
    assert.deepEqual(ended, old.grants);
    assert.deepEqual(await b.list(), live.grants);
    assert.deepEqual(await b.recover("t"), []);
    const [entry] = await b.audit.list({ event: "recovered" });
    assertTellsAll(entry, b.owner, { owner: a.owner, holder_id: old.grants[0]?.holder_id, mode: "write" }, { run: 7 });
    assert.ok("evidence" in (entry?.details ?? {}));
    await refusal(old.resume(), "E_LOCK_NOT_HELD");
  },

  async "STALE-5: a recovered place is given to whoever waits next"(bench) {
    const [a, b] = await bench.two();
    const admin = await bench.client({ owner: "user:ann" });
    await a.acquire("k");
    const waiting = b.acquire("k");
    await admin.break("k", { reason: "b needs it" });
    await waiting;
  },

  // kills: break-by-a-person (memory)
  async "STALE-6: only a user or an admin breaks, and with a written reason"(bench) {
    const holder = await bench.client();
    const lease = await holder.acquire("k");
    for (const owner of ["agent:a", "job:7", "service:s"])
      await refusal((await bench.client({ owner })).break("k", { reason: "please" }), "E_FORBIDDEN");
    const user = await bench.client({ owner: "user:ann" });
    for (const reason of ["", "  ", undefined as unknown as string])
      await refusal(user.break("k", { reason }), "E_INVALID_ARGUMENT");
    await lease.verify();
    await refusal(user.break("other", { reason: "tidy" }), "E_NOT_FOUND");
    await refusal(user.break("k/below", { reason: "tidy" }), "E_NOT_FOUND");
    assert.equal((await user.audit.list({ event: "broken" })).length, 0);
  },

  // kills: break-by-a-person (memory)
  async "STALE-6: a break ends a live grant and what nests in it, raises the fence, and is on record"(bench) {
    const a = await bench.client();
    const user = await bench.client({ owner: "user:ann" });
    const outer = await a.acquire("t", { metadata: { run: 7 } });
    const inner = await outer.acquire("t/x");
    const ended = await user.break("t", { reason: "hangs since noon" });
    assert.deepEqual(ended.map((record) => record.resource).sort(), ["t", "t/x"]);
    assert.ok((await user.inspect("t")).fencing_token > outer.fencingToken);
    for (const lease of [outer, inner]) {
      await refusal(
        lease.commit(() => assert.fail("it wrote")),
        "E_LOCK_NOT_HELD",
      );
      await refusal(user.verify("t/x", lease.fencingToken), "E_LOCK_NOT_HELD");
    }
    const entry = (await user.audit.list({ event: "broken" })).find((each) => each.resource === "t");
    assertTellsAll(entry, "user:ann", { owner: a.owner, mode: "write" }, { run: 7 });
    assert.equal(entry?.details.reason, "hangs since noon");
    const next = await user.acquire("t", { wait: 0 });
    assert.ok(next.fencingToken > Number(entry?.details.new_fencing_token));
    assert.equal(await isFree(a, "t"), false);
  },

  // kills: break-by-a-person (memory), nested-however-deep (memory), nested-however-deep-sql (postgres)
  async "STALE-6: a break ends what nests in something that nests, too: all of it has the fence that was broken"(
    bench,
  ) {
    const [a, b] = await bench.two();
    const user = await bench.client({ owner: "user:ann" });
    const outer = await a.acquire("t");
    const inner = await outer.acquire("t/x");
    const deepest = await b.acquire("t/x/y", { within: [await b.borrow("t/x", inner.token)], wait: 0 });
    const ended = await user.break("t", { reason: "hangs since noon" });
    assert.deepEqual(ended.map((record) => record.resource).sort(), ["t", "t/x", "t/x/y"]);
    await refusal(
      deepest.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
    assert.equal(await isFree(user, "t"), true);
  },
};
