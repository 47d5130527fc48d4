/** Files of a store deleted, cut or overwritten by other hands while nobody is inside: no two holders, clear errors. */
import {
  appendFileSync,
  copyFileSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Holdfast } from "../../../src/client/holdfast.js";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import type { World } from "../../fixtures/crash/scenarios.fixture.mjs";
import { observe, worldAt } from "../../fixtures/crash/store-state.fixture.js";

let dir: string;
let world: World;
let a: Holdfast;
let b: Holdfast;

beforeEach(async () => {
  dir = scratchFolder();
  world = worldAt(dir);
  a = await world.open("agent:a");
  b = await world.open("agent:b");
});

afterEach(async () => {
  await a.close();
  await b.close();
  rmSync(dir, { recursive: true, force: true });
});

const file = (...path: string[]): string => join(dir, "locks", "alpha", ...path);
/** Too much for tree.json, if it is on a key below: it has a file of its own. */
const FILED = { metadata: { note: "x".repeat(3_000) } };
const GARBAGE = ["", "\0\0\0\0", "half a rec", "null", "[]", "{}", '{"schema_version":1,"grants":{}}'];

describe("tree.json", () => {
  // kills: file-lost-record-read, file-lost-record-listed
  it.each(["emptied", "deleted"])("%s while its key is held, its key is not shown as free", async (how) => {
    const lease = await a.acquire("alpha/b");
    const kept = readFileSync(file("tree.json"));
    if (how === "emptied") truncateSync(file("tree.json"));
    else unlinkSync(file("tree.json"));
    const lost = { code: "E_STORE_CORRUPT", details: { path: file("tree.json") } };
    await expect(b.inspect("alpha/b")).rejects.toMatchObject(lost);
    await expect(b.list()).rejects.toMatchObject(lost);
    await expect(b.list({ prefix: "alpha" })).rejects.toMatchObject(lost);
    expect(await b.list({ prefix: "beta" })).toEqual([]);
    writeFileSync(file("tree.json"), kept);
    expect(await b.list()).toHaveLength(1);
    await lease.release();
  });

  // kills: file-forgotten-record
  it("STORE-2: deleted while its key is held, it makes no second holder, and all is well once it is back", async () => {
    const lease = await a.acquire("alpha");
    renameSync(file("tree.json"), file("kept"));
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    await expect(lease.commit(() => "written")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    expect(await b.audit.verify()).toMatchObject({ ok: false, bad: [{ tree: "alpha" }] });
    renameSync(file("kept"), file("tree.json"));
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await expect(lease.commit(() => "written")).resolves.toBe("written");
    await observe(dir);
  });

  it("FENCE-1: deleted while nothing is held, the chain and the numbers go on", async () => {
    const first = await a.acquire("alpha");
    await first.release();
    unlinkSync(file("tree.json"));
    const second = await b.acquire("alpha");
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    const { chains } = await observe(dir);
    expect(chains.get("alpha")?.map((entry) => entry.event)).toEqual([
      "granted",
      "released",
      "chain_repaired",
      "granted",
    ]);
  });

  it("STORE-2: deleted while a key below is held that it kept, it makes no second holder", async () => {
    const lease = await a.acquire("alpha/b");
    renameSync(file("tree.json"), file("kept"));
    for (const key of ["alpha/b", "alpha", "alpha/c"])
      await expect(b.acquire(key)).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    renameSync(file("kept"), file("tree.json"));
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await lease.release();
    await observe(dir);
  });

  it("STORE-2: deleted while a key below is held that has a file of its own, that grant still counts", async () => {
    const lease = await a.acquire("alpha/b", FILED);
    unlinkSync(file("tree.json"));
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await lease.release();
    await (await b.acquire("alpha")).release();
    await observe(dir);
  });

  it("STORE-2: deleted together with the record of a key below that is held, it makes no second holder", async () => {
    await a.acquire("alpha/b", FILED);
    for (const name of ["tree.json", "below/b.json"]) unlinkSync(file(name));
    await expect(b.acquire("alpha/b")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
  });

  // kills: file-lost-record-held
  it("STORE-2: deleted a second time, together with the record of a key below, it makes no second holder", async () => {
    await a.acquire("alpha/b", FILED);
    unlinkSync(file("tree.json"));
    await expect(b.acquire("alpha/b")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" }); // It was begun anew.
    for (const name of ["tree.json", "below/b.json"]) unlinkSync(file(name));
    await expect(b.acquire("alpha/b")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
  });

  it.each(GARBAGE)("STORE-2: overwritten with %j while its key is held, it makes no second holder", async (text) => {
    const lease = await a.acquire("alpha");
    const kept = readFileSync(file("tree.json"));
    writeFileSync(file("tree.json"), text);
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    await expect(b.acquire("alpha/b")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    writeFileSync(file("tree.json"), kept);
    await lease.verify();
    await observe(dir);
  });

  it("STORE-2: of a newer version, it is not touched", async () => {
    await (await a.acquire("alpha")).release();
    const record = JSON.parse(readFileSync(file("tree.json"), "utf8")) as Record<string, unknown>;
    const newer = JSON.stringify({ ...record, schema_version: 99, shape: "unheard of" });
    writeFileSync(file("tree.json"), newer);
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    expect(readFileSync(file("tree.json"), "utf8")).toBe(newer);
  });

  it("STORE-2: a copy made with hard links does not hide what others write", async () => {
    await (await a.acquire("alpha")).release();
    for (const name of ["tree.json", "audit.jsonl", "guard"]) linkSync(file(name), file(`${name}.backup`));
    await b.acquire("alpha", { detached: true }); // Replaces the file; the old one lives on in the copy.
    await expect(a.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it("STORE-2: put back from a copy while open elsewhere, what is there counts, not what was known", async () => {
    const lease = await a.acquire("alpha");
    copyFileSync(file("tree.json"), file("kept"));
    await lease.release();
    unlinkSync(file("tree.json"));
    renameSync(file("kept"), file("tree.json"));
    await expect(a.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });
});

describe("the guard", () => {
  it("STORE-2: deleted while nobody is inside, it still lets one in at a time", async () => {
    const lease = await a.acquire("alpha");
    unlinkSync(file("guard"));
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await lease.renew();
    unlinkSync(file("guard"));
    await lease.release();
    await (await b.acquire("alpha")).release();
    await observe(dir);
  });

  it("STORE-2: its content does not matter", async () => {
    await (await a.acquire("alpha")).release();
    writeFileSync(file("guard"), "whatever");
    await (await b.acquire("alpha")).release();
    await observe(dir);
  });
});

describe("the folder of a tree", () => {
  it("FENCE-1: removed altogether, clients that had it open begin a new one with higher numbers", async () => {
    const lease = await a.acquire("alpha");
    await (await b.acquire("beta")).release();
    rmSync(file(), { recursive: true });
    const next = await b.acquire(["alpha", "beta"]);
    expect(next.fencingTokens[0]).toBeGreaterThan(lease.fencingToken);
    await expect(lease.commit(() => "written")).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    await next.release();
    await (await a.acquire("alpha")).release();
    await observe(dir);
  });
});

describe("audit.jsonl", () => {
  const entries = async (): Promise<void> => {
    for (const key of ["alpha", "alpha/b", "alpha"]) await (await a.acquire(key)).release();
  };
  const badSeq = async (): Promise<number | undefined> => {
    await (await b.acquire("alpha/c")).release(); // Locking goes on.
    const { ok, bad } = await b.audit.verify();
    expect(ok).toBe(false);
    return bad[0]?.seq;
  };

  it("AUDIT-2: deleted, that shows", async () => {
    await entries();
    unlinkSync(file("audit.jsonl"));
    expect(await badSeq()).toBe(1);
  });

  it("AUDIT-2: its tail cut off, that shows, also after more was written", async () => {
    await entries();
    const lines = readFileSync(file("audit.jsonl"), "utf8").split("\n");
    truncateSync(file("audit.jsonl"), Buffer.byteLength(`${lines.slice(0, 4).join("\n")}\n`));
    expect(await badSeq()).toBe(5);
  });

  it("AUDIT-2: an entry altered, that shows", async () => {
    await entries();
    const text = readFileSync(file("audit.jsonl"), "utf8");
    writeFileSync(file("audit.jsonl"), text.replace(/("seq":3.*?)agent:a/, "$1agent:b"));
    expect(await badSeq()).toBe(3);
  });

  it("AUDIT-2: two entries swapped, that shows", async () => {
    await entries();
    const lines = readFileSync(file("audit.jsonl"), "utf8").split("\n");
    writeFileSync(file("audit.jsonl"), [lines[0], lines[2], lines[1], ...lines.slice(3)].join("\n"));
    expect(await badSeq()).toBe(2);
  });

  it("AUDIT-2: what is written behind its end does not count, and goes", async () => {
    await entries();
    appendFileSync(file("audit.jsonl"), `{"seq":7,"event":"granted","details":"${"x".repeat(5_000)}`);
    await observe(dir);
    const c = await world.open("agent:c");
    await (await c.acquire("alpha")).release();
    await c.close();
    await observe(dir);
    const lines = readFileSync(file("audit.jsonl"), "utf8").trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe("smaller files", () => {
  it.each(GARBAGE)("STORE-2: line.jsonl overwritten with %j: whoever waits takes a new place", async (text) => {
    const lease = await a.acquire("alpha");
    const waiting = b.acquire("alpha", { wait: "1m" });
    await expect.poll(async () => (await a.inspect("alpha")).waiters.length).toBe(1);
    writeFileSync(file("line.jsonl"), text);
    expect((await a.inspect("alpha")).grants).toHaveLength(1);
    await lease.release();
    await (await waiting).release();
  });

  it.each(GARBAGE)("FENCE-1: fence.json overwritten with %j gives out no number twice", async (text) => {
    const lease = await a.acquire("alpha");
    await lease.release();
    writeFileSync(file("fence.json"), text);
    world.atEndOfBlock("alpha");
    const told: number[] = [lease.fencingToken];
    for (const client of [a, b])
      try {
        const next = await client.acquire("alpha");
        told.push(next.fencingToken);
        await next.release();
      } catch (error) {
        expect(error).toMatchObject({ code: "E_STORE_CORRUPT" });
      }
    expect([...told].sort((x, y) => x - y)).toEqual(told);
    expect(new Set(told).size).toBe(told.length);
  });

  it("STORE-2: store.json or floor.json that make no sense are an error with a code", async () => {
    await (await a.acquire("alpha")).release();
    writeFileSync(join(dir, "floor.json"), "{{{");
    await expect(a.acquire("beta")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    await (await a.acquire("alpha")).release();
    writeFileSync(join(dir, "store.json"), "{{{");
    await expect(world.open()).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
  });

  it("STORE-2: strangers' files in the store are left alone and do no harm", async () => {
    const lease = await a.acquire("alpha/b", FILED);
    const strange = [join(dir, "locks", ".DS_Store"), join(dir, "ops", "notes.txt"), file("below", "notes.txt")];
    for (const path of [...strange, join(dir, "alive", "notes")]) writeFileSync(path, "mine");
    await observe(dir);
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await lease.release();
    for (const path of strange) expect(readFileSync(path, "utf8")).toBe("mine");
  });
});

describe("proofs of life", () => {
  const proofs = (): string => join(dir, "alive");

  it("STALE-2: deleted while its process lives, nobody is taken for dead", async () => {
    await a.acquire("alpha");
    rmSync(proofs(), { recursive: true });
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it("STALE-2: copied over, it is another file and proves nothing", async () => {
    const lease = await a.acquire("alpha");
    const proof = join(proofs(), lease.grants[0]?.nonce ?? "");
    copyFileSync(proof, `${proof}.copy`);
    renameSync(`${proof}.copy`, proof);
    await expect(b.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });
});

describe("records of a newer version", () => {
  // kills: unreadable-is-held
  it.each([
    ["alpha", "tree.json", {}],
    ["alpha/b", "tree.json", {}],
    ["alpha/b", "below/b.json", FILED],
  ])("STALE-7: on %s, in %s, one stays whatever its neighbours do", async (key, name, options) => {
    const lease = await a.acquire(key, { mode: "read", ...options });
    await b.acquire(key, { mode: "read" });
    const path = file(name);
    const text = readFileSync(path, "utf8");
    writeFileSync(
      path,
      text.replace(
        /"schema_version":1(,"lock_id":"[^"]+","resource":"[^"]+","mode":"read","owner":"agent:b")/,
        '"schema_version":99$1',
      ),
    );
    expect(readFileSync(path, "utf8")).toContain('"schema_version":99');
    await lease.renew();
    await lease.release();
    await expect(a.recover("alpha")).resolves.toEqual([]);
    await expect(a.acquire(key)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(recordsIn(file())).toContain('"schema_version":99');
  });
});

/** A record that is not understood may have got a file of its own. */
function recordsIn(tree: string): string {
  const files = readdirSync(tree, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
  return files.map((name) => readFileSync(join(tree, name), "utf8")).join("");
}
