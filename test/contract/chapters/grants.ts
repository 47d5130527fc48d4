import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { isFree, refusal } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

const FIELDS = [
  "schema_version",
  "lock_id",
  "resource",
  "mode",
  "owner",
  "holder_id",
  "nonce",
  "created_at",
  "last_renewed_at",
  "lease_expires_at",
  "lease_duration_s",
  "fencing_token",
  "metadata",
];
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What a grant is, how it is shown, and how it is given back. */
export const grants: Chapter = {
  async "LOCK-4: everybody sees the record, with exactly its fields"(bench) {
    const [a, b] = await bench.two();
    const metadata = { why: "nightly build", nested: { list: [1, "zwei", null, true] } };
    const lease = await a.acquire("issue:42", { metadata, ttl: "90s" });
    const [record] = await b.list();
    assert.ok(record);
    assert.deepEqual(Object.keys(record).sort(), [...FIELDS].sort());
    assert.deepEqual((await b.inspect("issue:42")).grants, [record]);
    assert.deepEqual(lease.grants, [record]);
    assert.equal(record.schema_version, 1);
    assert.match(record.lock_id, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    assert.equal(record.resource, "issue:42");
    assert.equal(record.mode, "write");
    assert.equal(record.owner, a.owner);
    assert.match(record.holder_id, new RegExp(`^[^:]+:[^:]+:${process.pid}:\\w+`));
    for (const time of [record.created_at, record.last_renewed_at, record.lease_expires_at])
      assert.match(time, ISO_TIME);
    assert.equal(Date.parse(record.lease_expires_at) - Date.parse(record.last_renewed_at), 90_000);
    assert.equal(record.lease_duration_s, 90);
    assert.equal(record.fencing_token, lease.fencingToken);
    assert.deepEqual(record.metadata, metadata);
  },

  async "LOCK-4: nothing that shows locks reveals the lease token"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("secret/key", { mode: "upgradeable" });
    await lease.upgrade();
    const inner = await lease.acquire("secret/key/inner");
    await refusal(b.acquire("secret/key", { wait: 100 }), "E_LOCK_TIMEOUT");
    const shown = JSON.stringify([
      await b.list(),
      await b.inspect("secret/key"),
      await b.audit.list(),
      lease.grants,
      await refusal(b.acquire("secret", { wait: 0 }), "E_LOCK_CONFLICT"),
    ]);
    for (const { token } of [lease, inner])
      for (const encoding of ["base64url", "base64", "hex"] as const) {
        assert.ok(!shown.includes(token), "the token itself");
        assert.ok(!shown.includes(createHash("sha256").update(token).digest(encoding)), "its hash");
      }
    assert.notEqual(lease.token, inner.token);
  },

  async "LOCK-4: metadata up to 16 KiB comes back as it was, more is refused"(bench) {
    const [a, b] = await bench.two();
    const most = { text: "x".repeat(16 * 1024 - '{"text":""}'.length) };
    await a.acquire("big", { metadata: most });
    assert.deepEqual((await b.list())[0]?.metadata, most);
    await refusal(b.acquire("bigger", { metadata: { text: `${most.text}x` } }), "E_INVALID_ARGUMENT");
    await refusal(b.acquire("bigger", { metadata: { text: "é".repeat(9_000) } }), "E_INVALID_ARGUMENT");
    assert.equal((await b.inspect("bigger")).state, "free");
  },

  async "LOCK-8: a release lets others in, a second one does nothing"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    assert.equal(await isFree(b, "k"), false);
    await lease.release();
    assert.equal(lease.state, "released");
    const next = await b.acquire("k", { wait: 0 });
    await lease.release();
    await next.verify();
    assert.deepEqual((await a.inspect("k")).grants, next.grants);
    await refusal(lease.renew(), "E_LOCK_NOT_HELD");
    await refusal(lease.verify(), "E_LOCK_NOT_HELD");
    await refusal(
      lease.commit(() => assert.fail("it wrote")),
      "E_LOCK_NOT_HELD",
    );
    await refusal(lease.acquire("other"), "E_LOCK_NOT_HELD");
  },

  async "LOCK-8: releasing what somebody has ended is E_LOCK_NOT_HELD"(bench) {
    const a = await bench.client();
    const admin = await bench.client({ owner: "admin:ann" });
    const lease = await a.acquire("k");
    await admin.break("k", { reason: "maintenance" });
    await refusal(lease.release(), "E_LOCK_NOT_HELD");
  },

  async "LOCK-8: withLock and `await using` release on success and on failure"(bench) {
    const [a, b] = await bench.two();
    assert.equal(
      await a.withLock("k", {}, async (lease) => [lease.keys, await isFree(b, "k")].flat().join()),
      "k,false",
    );
    assert.equal(await isFree(b, "k"), true);
    const failure = new Error("the work failed");
    await assert.rejects(
      a.withLock("k", {}, () => {
        throw failure;
      }),
      failure,
    );
    assert.equal(await isFree(b, "k"), true);
    await assert.rejects(async () => {
      await using _lease = await a.acquire("k");
      throw failure;
    }, failure);
    assert.equal(await isFree(b, "k"), true);
  },

  // kills: close-under-way (memory)
  async "LIB-1: closing a client releases what it holds, inner first, and leaves what is detached"(bench) {
    const [a, b] = await bench.two();
    const outer = await a.acquire("tree");
    await outer.acquire("tree/inner");
    await a.acquire("stays", { detached: true });
    void a.close();
    await a.close();
    assert.deepEqual(
      (await b.list()).map((record) => record.resource),
      ["stays"],
    );
    await a.close();
    await refusal(a.acquire("k"), "E_INVALID_ARGUMENT");
    await refusal(a.inspect("k"), "E_INVALID_ARGUMENT");
  },
};
