/** Everybody who stands in line in a whole store, as each store tells it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../src/platform/clock.js";
import type { Reader, Store } from "../../../src/store/contract.js";
import { examineStore, openStore } from "../../../src/store/open.js";
import { acquireRequest, PARTY } from "../../fixtures/store/acquire-request.fixture.js";

let folder: string;
let store: Store;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-waiting-"));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Time stands still: nobody loses a place meanwhile. */
async function open(url: string): Promise<void> {
  const now = createSystemClock()();
  store = await openStore(url, {}, () => now);
}

const hold = (...keys: string[]) =>
  store.locks.acquire(acquireRequest(keys, { tokenHash: "holder".padEnd(43, "x"), detached: true, leaseMs: 600_000 }));

async function queue(name: string, ...keys: string[]): Promise<void> {
  const party = { ...PARTY, owner: `agent:${name}`, nonce: name };
  const tokenHash = name.padEnd(43, "x");
  const answer = await store.locks.acquire(acquireRequest(keys, { party, tokenHash, waitMs: 600_000 }));
  expect(answer.kind).toBe("queued");
}

const told = async (reader: Reader, limit = 1_000) =>
  (await reader.waiting(limit)).map(({ owner, wants }) => `${owner} ${wants.map(({ resource }) => resource).join()}`);

/** The keys of `a` lie around those of `a-b` in the order of bytes. */
async function fill(): Promise<string[]> {
  await hold("a", "a-b", "b", "c");
  await queue("one", "b");
  await queue("two", "a/x");
  await queue("three", "a-b/x", "b");
  await queue("four", "a");
  await queue("five", "a/x");
  await queue("six", "a-b");
  await queue("seven", "b");
  return [
    "agent:two a/x",
    "agent:four a",
    "agent:five a/x",
    "agent:three a-b/x,b",
    "agent:six a-b",
    "agent:one b",
    "agent:seven b",
  ];
}

const URLS: Readonly<Record<string, () => string>> = {
  memory: () => `memory:${folder}`,
  file: () => `file:${folder}`,
  sqlite: () => `sqlite:${join(folder, "locks.db")}`,
};

describe.each(Object.entries(URLS))("who waits in a store: %s", (_, url) => {
  it("LOCK-13: is told tree by tree, in the order of the line, once, and no more than asked for", async () => {
    await open(url());
    expect(await store.reader.waiting(10)).toEqual([]);
    const all = await fill();
    expect(await told(store.reader)).toEqual(all);
    for (const limit of [1, 3, 4, 6, 7, 8]) expect(await told(store.reader, limit)).toEqual(all.slice(0, limit));
    const [first] = await store.reader.waiting(1);
    expect(first).toEqual((await store.reader.inspect("a" as never)).waiters[0]);
  });
});

const filesBelow = (): string[] => readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();

describe.each(["file", "sqlite"])("who waits in a store that is only looked at: %s", (kind) => {
  it("LOCK-13: is told, and no file comes into being", async () => {
    await open((URLS[kind] as () => string)());
    const all = await fill();
    const before = filesBelow();
    const examination = await examineStore(store.url);
    expect(await told(examination?.reader as Reader)).toEqual(all);
    await examination?.close();
    expect(filesBelow()).toEqual(before);
  });
});

describe("who waits in a file store", () => {
  it("LOCK-13: is not looked for where the record of a tree says that nobody waits, nor in what cannot be read", async () => {
    await open(`file:${folder}`);
    await hold("a", "b", "c");
    await queue("one", "a");
    await queue("two", "b");
    const lineOf = (tree: string) => join(folder, "locks", tree, "line.jsonl");
    writeFileSync(lineOf("c"), readFileSync(lineOf("a")));
    writeFileSync(lineOf("b"), `${readFileSync(lineOf("b"), "utf8").slice(0, 40)}\n`);
    expect(await told(store.reader)).toEqual(["agent:one a"]);
  });
});
