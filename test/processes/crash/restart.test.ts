/**
 * The machine restarts: the records tell of another boot, processes are gone, and what was not synced may be missing,
 * older, or torn. A boot is simulated by the clock that clients are given.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Holdfast } from "../../../src/client/holdfast.js";
import type { Clock } from "../../../src/platform/clock.js";
import { openFileStore } from "../../../src/store/file/open.js";
import { at, scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { createWorld, type World } from "../../fixtures/crash/scenarios.fixture.mjs";
import { observe as observeNow, worldAt } from "../../fixtures/crash/store-state.fixture.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";

let dir: string;
let boots = 0;
let mark: number;

beforeEach(() => {
  dir = scratchFolder();
  mark = faults.mark();
});

afterEach(() => {
  faults.bury(mark);
  rmSync(dir, { recursive: true, force: true });
});

/** A machine that has just been started; all processes of the boot before are dead. */
function boot(machineId = "this machine", id?: string): World {
  faults.bury(mark);
  boots += 1;
  const bootId = id ?? `boot ${boots}`;
  const bootedAt = Date.now();
  const clock: Clock = () => ({ wallMs: Date.now(), bootMs: Date.now() - bootedAt, bootId, machineId });
  return createWorld({ openFileStore, Holdfast, createSystemClock: () => clock }, dir);
}

const file = (...path: string[]): string => join(dir, "locks", "alpha", ...path);
const DETACHED = { detached: true, ttl: "1h" } as const;
/** Too much for tree.json, if it is on a key below: it has a file of its own. */
const FILED = { ttl: "24h", metadata: { note: "x".repeat(3_000) } } as const;

/** Written before the restart, as far as its time tells. */
function age(path: string): void {
  const before = Date.now() / 1000 - 60;
  utimesSync(path, before, before);
}

/** As parts of two versions may leave it. */
function tear(path: string): void {
  writeFileSync(path, readFileSync(path, "utf8").replace('"mode":"write"', '"mode":"wread"'));
}

async function use(world: World, keys: string | string[]): Promise<readonly number[]> {
  const client = await world.open();
  const lease = await client.acquire(keys);
  await lease.release();
  await client.close();
  return lease.fencingTokens;
}

/** Goes inside the guard, and so repairs, without taking anything. */
async function look(world: World): Promise<void> {
  await (await world.open()).recover("alpha");
}

async function eventsOf(world: World): Promise<string[]> {
  const client = await world.open("user:reader");
  expect(await client.audit.verify()).toMatchObject({ ok: true });
  const entries = await client.audit.list();
  await client.close();
  return entries.map((entry) => entry.event);
}

// kills: file-fence-restart
describe("fences", () => {
  it("FENCE-1: go on behind the reserved block", async () => {
    const [before = 0] = await use(boot(), "alpha");
    const [after = 0] = await use(boot(), "alpha");
    expect(after).toBeGreaterThan(before + 998);
  });

  it("FENCE-1: go on behind it also when the last writes are lost", async () => {
    const world = boot();
    await use(world, "alpha");
    copyFileSync(file("tree.json"), file("old"));
    let last = 0;
    const client = await world.open();
    for (let grants = 0; grants < 1_500; grants += 1) {
      const lease = await client.acquire("alpha");
      last = lease.fencingToken;
      await lease.release();
    }
    copyFileSync(file("old"), file("tree.json")); // Only fence.json was synced.
    const [after = 0] = await use(boot(), "alpha");
    expect(after).toBeGreaterThan(last);
  });

  // kills: floor-on-disk
  it("FENCE-1: of a tree that is lost altogether begin above what it can have used, whatever the clock says", async () => {
    const world = boot();
    const client = await world.open();
    let last = 0;
    for (let grants = 0; grants < 900; grants += 1) {
      const lease = await client.acquire("alpha");
      last = lease.fencingToken;
      await lease.release();
    }
    rmSync(file(), { recursive: true });
    const [after = 0] = await use(boot(), "alpha");
    expect(after).toBeGreaterThan(last);
  });

  it("FENCE-1: go on when a restart follows a restart before anything was granted", async () => {
    const [before = 0] = await use(boot(), "alpha");
    for (let restarts = 0; restarts < 3; restarts += 1) {
      const client = await boot().open();
      await client.verify("alpha", before).catch(() => undefined);
    }
    const [after = 0] = await use(boot(), "alpha");
    expect(after).toBeGreaterThan(before);
  });
});

describe("an unknown boot", () => {
  const unknown = () => boot("this machine", "");

  // kills: file-unknown-boot-fence
  it("goes on behind the reserved block in each process, whatever was lost", async () => {
    await use(unknown(), "alpha");
    copyFileSync(file("tree.json"), file("old"));
    const [last = 0] = await use(unknown(), "alpha");
    copyFileSync(file("old"), file("tree.json"));
    const [after = 0] = await use(unknown(), "alpha");
    expect(after).toBeGreaterThan(last);
    const world = unknown();
    const client = await world.open();
    const tokens: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      const lease = await client.acquire("alpha");
      tokens.push(lease.fencingToken);
      await lease.release();
    }
    expect(tokens.map((token) => token - (tokens[0] ?? 0))).toEqual([0, 1, 2]);
  });

  // kills: file-unknown-boot-age
  it("takes nothing that cannot be read for torn by a restart: it counts as held", async () => {
    await (await boot().open("agent:before")).acquire("alpha/b", { ttl: "24h" });
    tear(file("tree.json"));
    age(file("tree.json"));
    await expect(use(unknown(), "alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it("is known again to the next process that knows its own, and fences have gone on", async () => {
    const [before = 0] = await use(boot("this machine", "boot K"), "alpha");
    const [between = 0] = await use(unknown(), "alpha");
    const [after = 0] = await use(boot("this machine", "boot K"), "alpha");
    expect(between).toBeGreaterThan(before + 998);
    expect(after).toBe(between + 1);
  });
});

describe("grants", () => {
  it.each(["alpha", "alpha/b/c"])("STORE-2: of processes are over at once, on %s", async (key) => {
    await (await boot().open("agent:before")).acquire(key, { ttl: "24h" });
    const client = await boot().open("agent:after");
    const lease = await client.acquire(key);
    const entry = (await client.audit.list({ event: "stolen" }))[0];
    expect(entry?.details).toMatchObject({ reason: "process_dead", evidence: { life: "dead" } });
    await lease.release();
  });

  it.each(["alpha", "alpha/b/c"])("STORE-2: that are detached stay, on %s", async (key) => {
    await (await boot().open("agent:before")).acquire(key, DETACHED);
    const client = await boot().open("agent:after");
    await expect(client.acquire(key)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await expect(client.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it("STORE-2: of another machine are not judged: nobody works beside them", async () => {
    await (await boot("one machine").open("agent:before")).acquire("alpha", { ttl: "24h" });
    await expect(boot("another machine").open("agent:after")).rejects.toMatchObject({ code: "E_CONFIG" });
  });

  it("STORE-2: a detached one below counts although tree.json is older than it", async () => {
    const world = boot();
    await use(world, "alpha");
    copyFileSync(file("tree.json"), file("old"));
    await (await world.open("agent:before")).acquire("alpha/b", DETACHED);
    copyFileSync(file("old"), file("tree.json"));
    const client = await boot().open("agent:after");
    await expect(client.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it("STORE-2: a file below that was never counted does not make another one uncounted", async () => {
    const world = boot();
    const client = await world.open("agent:before");
    await client.acquire("alpha/kept", DETACHED);
    copyFileSync(file("tree.json"), file("old"));
    await client.acquire("alpha/gone", FILED);
    copyFileSync(file("old"), file("tree.json")); // The file of alpha/gone reached the disk, the count did not.
    const next = await boot().open("agent:after");
    await (await next.acquire("alpha/gone")).release();
    await expect(next.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });
});

describe("what was being written", () => {
  it("STORE-2: a torn tree.json held nothing that outlives the machine, and is begun anew", async () => {
    const [before = 0] = await use(boot(), "alpha");
    await (await boot().open("agent:before")).acquire("alpha/b", DETACHED);
    truncateSync(file("tree.json"), 100);
    age(file("tree.json"));
    age(file("audit.jsonl"));
    const world = boot();
    const client = await world.open("agent:after");
    await expect(client.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    const lease = await client.acquire("alpha/c");
    expect(lease.fencingToken).toBeGreaterThan(before);
    expect(await eventsOf(world)).toContain("chain_repaired");
  });

  // kills: restart-torn-grants
  it("STORE-2: a grant in tree.json that the cut left as nonsense, though it is JSON, held nothing either", async () => {
    await (await boot().open("agent:before")).acquire(["alpha/b", "alpha/c"], { ttl: "24h" });
    tear(file("tree.json"));
    age(file("tree.json"));
    const world = boot();
    await use(world, "alpha");
    expect(await eventsOf(world)).toContain("chain_repaired");
  });

  it("STALE-7: but one that was spoiled since the machine came up counts as held", async () => {
    await (await boot().open("agent:before")).acquire("alpha/b", { ttl: "24h" });
    const spoiled = boot();
    const since = Date.now() / 1000 + 1;
    tear(file("tree.json"));
    utimesSync(file("tree.json"), since, since);
    await expect(use(spoiled, "alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await expect(use(spoiled, "alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it("STORE-2: a torn file of a node held nothing that outlives the machine, and goes", async () => {
    await (await boot().open("agent:before")).acquire("alpha/b/c", FILED);
    truncateSync(file("below", "b.d", "c.json"), 50);
    age(file("below", "b.d", "c.json"));
    await use(boot(), "alpha");
    expect(existsSync(file("below", "b.d", "c.json"))).toBe(false);
  });

  it("STALE-7: a file torn in this boot is nobody's to remove", async () => {
    const world = boot();
    await (await world.open("agent:before")).acquire("alpha/b/c", FILED);
    truncateSync(file("below", "b.d", "c.json"), 50);
    await expect(use(world, "alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it("STALE-7: nor is one that was spoiled since the machine came up", async () => {
    await (await boot().open("agent:before")).acquire("alpha/b/c", FILED);
    const world = boot();
    const since = Date.now() / 1000 + 1;
    truncateSync(file("below", "b.d", "c.json"), 50);
    utimesSync(file("below", "b.d", "c.json"), since, since);
    await expect(use(world, "alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
  });

  it.each([
    ["cut off", (text: string, at: number) => text.slice(0, at)],
    ["zero", (text: string, at: number) => text.slice(0, at) + "\0".repeat(text.length - at)],
  ])("AUDIT-2: entries whose bytes are %s are given up, and that is on record", async (_, damage) => {
    const world = boot();
    for (let uses = 0; uses < 3; uses += 1) await use(world, "alpha");
    const text = readFileSync(file("audit.jsonl"), "utf8");
    const fifth = text.split("\n").slice(0, 4).join("\n").length;
    writeFileSync(file("audit.jsonl"), damage(text, fifth + 20));
    const next = boot();
    await use(next, "alpha");
    expect((await eventsOf(next)).slice(4)).toEqual(["chain_repaired", "granted", "released"]);
    const client = await next.open("user:reader");
    expect((await client.audit.list({ event: "chain_repaired" }))[0]?.details).toMatchObject({ lost: 2 });
  });

  it("AUDIT-2: an entry altered by hand is not taken for lost: it still shows", async () => {
    const world = boot();
    for (let uses = 0; uses < 3; uses += 1) await use(world, "alpha");
    const text = readFileSync(file("audit.jsonl"), "utf8");
    writeFileSync(file("audit.jsonl"), text.replace(/("seq":3.*?)agent:one/, "$1agent:two"));
    const next = boot();
    await use(next, "alpha");
    const client = await next.open("user:reader");
    expect(await client.audit.verify()).toMatchObject({ ok: false, bad: [{ tree: "alpha", seq: 3 }] });
  });

  it("AUDIT-3: a crash anywhere in the repair leaves it to be done, and the loss on record once", async () => {
    const world = boot();
    for (let uses = 0; uses < 3; uses += 1) await use(world, "alpha");
    const text = readFileSync(file("audit.jsonl"), "utf8");
    const record = readFileSync(file("tree.json"));
    const cut = text.slice(0, text.length - 30);
    faults.watch(dir);
    let isDone = false;
    let points = 0;
    while (!isDone) {
      points += 1;
      writeFileSync(file("audit.jsonl"), cut);
      writeFileSync(file("tree.json"), record);
      const next = boot();
      const start = faults.mark();
      faults.arm({ at: points, what: "stop" });
      isDone = await look(next).then(
        () => !faults.stopped,
        () => false,
      );
      faults.disarm();
      faults.bury(start);
      await look(next);
      expect((await eventsOf(next)).filter((event) => event === "chain_repaired")).toHaveLength(1);
    }
    expect(points).toBeGreaterThan(8);
  });
});

describe("a repair that stops half-way, of a tree.json that the power cut", () => {
  const spoil: Record<string, () => void> = {
    destroyed: () => rmSync(file("tree.json")),
    "cut off": () => truncateSync(file("tree.json"), 100),
    "left as nonsense that is JSON": () => tear(file("tree.json")),
  };

  /** Brings the store at `dir` into the state that the cut left, at each call the same. */
  async function cutWhileHeld(how: string): Promise<() => void> {
    const client = await boot().open("agent:before");
    await (await client.acquire("alpha")).release();
    await client.acquire("alpha/b", { ttl: "24h" });
    await client.acquire("alpha/c", FILED);
    await client.acquire("alpha/d", DETACHED);
    await client.acquire("alpha/e", { ttl: "24h" });
    spoil[how]?.();
    const left = scratchFolder();
    cpSync(dir, left, { recursive: true });
    onTestFinished(() => rmSync(left, { recursive: true, force: true }));
    return () => {
      faults.bury(mark);
      rmSync(dir, { recursive: true });
      cpSync(left, dir, { recursive: true });
      for (const name of ["tree.json", "audit.jsonl"]) if (existsSync(file(name))) age(file(name));
    };
  }

  async function expectMended(world: World): Promise<void> {
    const client = await world.open("agent:after");
    for (const key of ["alpha/b", "alpha/c", "alpha/e"]) await (await client.acquire(key)).release();
    await expect(client.acquire("alpha/d")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect((await eventsOf(world)).filter((event) => event === "chain_repaired")).toHaveLength(1);
  }

  // kills: file-lost-record-ends, file-lost-record-once, file-lost-record-age, file-torn-record-age
  it.each(Object.keys(spoil))("STORE-2: %s is repaired by the next step, wherever a kill stopped it", async (how) => {
    const restore = await cutWhileHeld(how);
    faults.watch(dir);
    faults.skipSyncs();
    let isDone = false;
    let points = 0;
    while (!isDone) {
      points += 1;
      restore();
      const next = boot();
      const start = faults.mark();
      faults.arm({ at: points, what: "stop" });
      isDone = await look(next).then(
        () => !faults.stopped,
        () => false,
      );
      faults.disarm();
      faults.bury(start);
      await at(`stopped at ${points}`, () => expectMended(next));
    }
    expect(points).toBeGreaterThan(5);
  });

  it.each(Object.keys(spoil))("STORE-2: %s is repaired by the next step, wherever the disk failed", async (how) => {
    const restore = await cutWhileHeld(how);
    faults.watch(dir);
    faults.skipSyncs();
    let isUndisturbed = false;
    for (let point = 1; !isUndisturbed; point += 1) {
      restore();
      const next = boot();
      const client = await next.open();
      faults.arm({ at: point, what: "EIO", changesOnly: false });
      const failure = await client.recover("alpha").then(
        () => null,
        (error: unknown) => error,
      );
      isUndisturbed = faults.disarm().seen.length < point;
      await at(`failed at ${point}`, async () => {
        if (failure !== null) expect(failure).toMatchObject({ code: "E_IO", details: { errno: "EIO" } });
        await expectMended(next);
      });
    }
  });
});

it("AUDIT-3: an error of the disk while the first after a restart looks around loses nothing", async () => {
  const world = boot();
  for (let uses = 0; uses < 3; uses += 1) await use(world, "alpha");
  await (await world.open("agent:before")).acquire("alpha/b", DETACHED);
  const record = readFileSync(file("tree.json"));
  const text = readFileSync(file("audit.jsonl"), "utf8");
  faults.watch(dir);
  let isUndisturbed = false;
  for (let at = 1; !isUndisturbed; at += 1) {
    writeFileSync(file("tree.json"), record);
    const next = boot();
    const client = await next.open();
    faults.arm({ at, what: "EIO", changesOnly: false });
    const failure = await client.recover("alpha").then(
      () => null,
      (error: unknown) => error,
    );
    isUndisturbed = faults.disarm().seen.length < at;
    if (failure !== null) expect(failure).toMatchObject({ code: "E_IO", details: { errno: "EIO" } });
    await look(next);
    expect(readFileSync(file("audit.jsonl"), "utf8")).toBe(text);
    await expect(client.acquire("alpha")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(await eventsOf(next)).toHaveLength(7);
  }
});

it("STORE-2: a store of this boot is not taken for one from before", async () => {
  const client = await worldAt(dir).open();
  const lease = await client.acquire("alpha");
  await lease.release();
  const again = await client.acquire("alpha");
  expect(again.fencingToken).toBe(lease.fencingToken + 1);
  await observeNow(dir);
});
