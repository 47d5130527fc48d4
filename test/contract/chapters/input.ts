import assert from "node:assert/strict";
import type { AcquireOptions, Holdfast } from "../../../src/index.js";
import { refusal } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

const BAD_KEYS = [
  "",
  "/",
  "/a",
  "a/",
  "a//b",
  ".",
  "..",
  "a/../b",
  "a/./b",
  "a b",
  "a\n",
  "a\0b",
  "é",
  "a*",
  "a\\b",
  "a#b",
  "x".repeat(129),
  `ok/${"x".repeat(129)}`,
  Array.from({ length: 65 }, () => "d").join("/"),
  Array.from({ length: 9 }, () => "x".repeat(128)).join("/"),
];
const GOOD_KEYS = [
  "a",
  "...",
  "project:alpha/map:m1/sketch:s9",
  "path/src/api",
  "Az09._-:@+=,~%",
  "x".repeat(128),
  Array.from({ length: 64 }, () => "d").join("/"),
  `${Array.from({ length: 7 }, () => "y".repeat(128)).join("/")}/${"z".repeat(121)}`,
];

/** Every door that takes a key. */
const DOORS: Readonly<Record<string, (holdfast: Holdfast, key: string) => Promise<unknown>>> = {
  acquire: (holdfast, key) => holdfast.acquire(key, { wait: 0 }),
  "acquire of several": (holdfast, key) => holdfast.acquire(["fine", key], { wait: 0 }),
  tryAcquire: (holdfast, key) => holdfast.tryAcquire(key),
  withLock: (holdfast, key) => holdfast.withLock(key, {}, () => undefined),
  steal: (holdfast, key) => holdfast.steal(key),
  borrow: (holdfast, key) => holdfast.borrow(key, "hf_token"),
  recover: (holdfast, key) => holdfast.recover(key),
  break: (holdfast, key) => holdfast.break(key, { reason: "test" }),
  verify: (holdfast, key) => holdfast.verify(key, 1),
  inspect: (holdfast, key) => holdfast.inspect(key),
  list: (holdfast, key) => holdfast.list({ prefix: key }),
  "audit.list": (holdfast, key) => holdfast.audit.list({ resource: key }),
  "audit.verify": (holdfast, key) => holdfast.audit.verify({ resource: key }),
};

/** Each names the field it is about. */
const BAD_OPTIONS: readonly [string, object][] = [
  ["mode", { mode: "exclusive" }],
  ["ttl", { ttl: 999 }],
  ["ttl", { ttl: "24.1h" }],
  ["ttl", { ttl: "soon" }],
  ["ttl", { ttl: Number.NaN }],
  ["wait", { wait: -1 }],
  ["wait", { wait: "25h" }],
  ["wait", { wait: Number.POSITIVE_INFINITY }],
  ["permits", { permits: 0 }],
  ["permits", { permits: 1.5 }],
  ["permits", { permits: 10_001 }],
  ["permits", { permits: 2, mode: "read" }],
  ["metadata", { metadata: [] }],
  ["metadata", { metadata: "text" }],
  ["metadata", { metadata: { big: 1n } }],
  ["signal", { signal: {} }],
  ["detached", { detached: "yes" }],
  ["pid", { pid: 0 }],
  ["pid", { pid: 2 ** 30 }],
];

/** Bad input is refused at the door, naming the field, and leaves nothing behind. */
export const input: Chapter = {
  async "LOCK-1: what is no key is E_INVALID_ARGUMENT everywhere, and nothing is written"(bench) {
    const client = await bench.client({ owner: "admin:ann" });
    for (const [door, open] of Object.entries(DOORS))
      for (const key of [...BAD_KEYS, 7 as unknown as string, null as unknown as string]) {
        const error = await refusal(open(client, key), "E_INVALID_ARGUMENT");
        assert.ok(typeof error.details.field === "string", `${door} names the field`);
      }
    assert.deepEqual(await client.list(), []);
    assert.deepEqual(await client.audit.list(), []);
  },

  async "LOCK-1: every key the rules allow can be held, listed and found again"(bench) {
    const [a, b] = await bench.two();
    for (const key of GOOD_KEYS) {
      const lease = await a.acquire(key, { wait: 0 });
      assert.equal(await b.tryAcquire(key), null, key);
      assert.deepEqual((await b.inspect(key)).grants, lease.grants);
      assert.deepEqual(await b.list({ prefix: key }), lease.grants);
      await lease.release();
    }
    await a.acquire(GOOD_KEYS, { wait: 0 });
    assert.equal((await b.list()).length, GOOD_KEYS.length);
  },

  async "LOCK-11: the same key twice, no key, or more than 64 are refused"(bench) {
    const [a, b] = await bench.two();
    for (const keys of [["a", "a"], [], Array.from({ length: 65 }, (_, at) => `k${at}`)])
      await refusal(a.acquire(keys), "E_INVALID_ARGUMENT");
    assert.deepEqual(await b.list(), []);
    const lease = await a.acquire(Array.from({ length: 64 }, (_, at) => `k${at}`));
    assert.equal((await b.list()).length, 64);
    await lease.release();
  },

  // kills: options-text (memory)
  async "LOCK-1: options out of bounds are refused by name before anything is written"(bench) {
    const [a, b] = await bench.two();
    for (const [field, options] of BAD_OPTIONS) {
      const error = await refusal(a.acquire("k", options as AcquireOptions), "E_INVALID_ARGUMENT");
      assert.equal(error.details.field, field, error.message);
      assert.ok(error.message.startsWith(`${field}:`), error.message);
    }
    for (const options of ["read", 5_000, null, () => undefined]) {
      for (const ask of [a.acquire, a.tryAcquire, a.steal]) {
        const error = await refusal(ask.call(a, "k", options as AcquireOptions), "E_INVALID_ARGUMENT");
        assert.equal(error.details.field, "options");
      }
      await refusal(a.withLock("k", options as AcquireOptions, undefined as never), "E_INVALID_ARGUMENT");
    }
    const token = undefined as unknown as string; // As from a variable of the environment that is not set.
    await refusal(a.borrow("k", token), "E_INVALID_ARGUMENT");
    await refusal(a.reattach("k", token), "E_INVALID_ARGUMENT");
    for (const filter of [{ event: "release" }, { since: "2026-01-01" }, { until: new Date("never") }])
      for (const read of [a.audit.list, a.audit.recent, (asked: object) => a.audit.follow(asked).next()])
        await refusal(read(filter as object), "E_INVALID_ARGUMENT");
    for (const limit of [0, -1, 1.5, 50_001]) {
      await refusal(a.list({ limit }), "E_INVALID_ARGUMENT");
      await refusal(a.waits({ limit }), "E_INVALID_ARGUMENT");
      await refusal(a.audit.list({ limit }), "E_INVALID_ARGUMENT");
    }
    await refusal(a.verify("k", 1.5), "E_INVALID_ARGUMENT");
    assert.deepEqual([await b.list(), await b.audit.list()], [[], []]);
  },

  async "LOCK-1: an owner is agent, job, service, user or admin and a name"(bench) {
    for (const owner of ["", "agent", "agent:", "robot:r2", "agent:a b", "agent:\u0000", `agent:${"x".repeat(201)}`])
      await refusal(bench.client({ owner }), "E_INVALID_ARGUMENT");
    for (const owner of ["agent:a", "job:7", "service:web", "user:ann@host", "admin:é"]) {
      const client = await bench.client({ owner });
      assert.equal((await client.acquire(`by/${owner.split(":", 1)[0]}`)).grants[0]?.owner, owner);
    }
    assert.equal((await (await bench.client()).list()).length, 5);
  },
};
