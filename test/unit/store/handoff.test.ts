/** A release that grants the key to whoever waits for it, in its own step: to whom, for how long, and what becomes of it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Grant, Ticket } from "../../../src/lock/grant.js";
import { type Key, parseKey } from "../../../src/lock/key.js";
import type { Mode } from "../../../src/lock/mode.js";
import { thisMachine } from "../../../src/platform/machine.js";
import type { AcquireRequest, Answer, Party, Store } from "../../../src/store/contract.js";
import { openStore } from "../../../src/store/open.js";
import { FIRST_LEASE_MS } from "../../../src/store/operations/hand-over.js";
import { acquireRequest } from "../../fixtures/store/acquire-request.fixture.js";

const LEASE_MS = 60_000;

let folder: string;
let store: Store;
let nowMs: number;
let serial: number;

/** Somebody with one request. */
interface Client {
  readonly party: Party;
  readonly tokenHash: string;
  readonly ask: (ticketId?: string | null) => Promise<Answer>;
}

function client(name: string, key: string, mode: Mode = "write", change: Partial<AcquireRequest> = {}): Client {
  serial += 1;
  const nonce = `${name}-${serial}`;
  const party = { owner: `agent:${name}`, holderId: `host:${name}:1:1`, nonce, proof: store.prove(nonce, {}) };
  const request = acquireRequest(key, {
    wants: [{ resource: parseKey(key), mode, permits: null }],
    party,
    tokenHash: `hash-${serial}`.padEnd(43, "x"),
    leaseMs: LEASE_MS,
    metadata: { name },
    mayInherit: true,
    waitMs: 600_000,
    ...change,
  });
  const ask = (ticketId: string | null = null) => store.locks.acquire({ ...request, ticketId });
  return { party, tokenHash: request.tokenHash, ask };
}

async function hold(one: Client): Promise<Grant> {
  const answer = await one.ask();
  const [grant] = answer.kind === "granted" ? answer.grants : [];
  if (grant === undefined) throw new Error(`it is ${answer.kind}`);
  return grant;
}

async function queue(one: Client): Promise<string> {
  const answer = await one.ask();
  if (answer.kind !== "queued") throw new Error(`it is ${answer.kind}`);
  return answer.ticketId;
}

async function around(key: string): Promise<{ readonly owners: string[]; readonly waiters: readonly Ticket[] }> {
  const { grants, waiters } = await store.reader.inspect(parseKey(key));
  return { owners: grants.map(({ owner }) => owner).sort(), waiters };
}

const handed = (key: string, { tokenHash }: Client) => store.locks.handed(parseKey(key) as Key, tokenHash);

async function open(scheme: string): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), "holdfast-hand-over-"));
  [nowMs, serial] = [1_000, 0];
  const clock = () => ({ wallMs: 1_800_000_000_000 + nowMs, bootMs: nowMs, ...thisMachine() });
  const url = { memory: `memory:${folder}`, file: `file:${folder}`, sqlite: `sqlite:${folder}/locks.db` }[scheme];
  store = await openStore(url ?? "", {}, clock);
}

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(["memory", "file", "sqlite"])("handing over (%s)", (scheme) => {
  beforeEach(() => open(scheme));

  it.each(["work", "tree/work"])("LOCK-12: whoever is next holds %s from the moment it is released", async (key) => {
    const [a, b, c] = [client("a", key), client("b", key), client("c", key)];
    const first = await hold(a);
    const ticket = await queue(b);
    await queue(c);
    await store.locks.release([first], a.party);

    const grant = handed(key, b);
    expect(grant).toMatchObject({ owner: "agent:b", leaseMs: FIRST_LEASE_MS, metadata: { name: "b" } });
    expect(grant?.fencingToken).toBeGreaterThan(first.fencingToken);
    expect((await around(key)).owners).toEqual(["agent:b"]);
    expect((await around(key)).waiters.map(({ owner }) => owner)).toEqual(["agent:c"]);
    expect(handed(key, c)).toBeNull();
    const entries = await store.reader.audit({ tree: parseKey(key.split("/")[0] ?? ""), afterSeq: 0, limit: 10 });
    expect(entries.map(({ event, owner }) => [event, owner])).toEqual([
      ["granted", "agent:a"],
      ["released", "agent:a"],
      ["granted", "agent:b"],
    ]);
    expect(entries[2]?.details).toMatchObject({
      handed_over: true,
      lease_ms: LEASE_MS,
      first_lease_ms: FIRST_LEASE_MS,
    });

    // One that asks although it has it gets just that, for as long as it had asked for.
    nowMs += 1_000;
    expect(await b.ask(ticket)).toMatchObject({
      kind: "granted",
      grants: [{ lockId: grant?.lockId, fencingToken: grant?.fencingToken, leaseMs: LEASE_MS }],
    });
    await store.locks.release([grant as Grant], b.party);
    expect((await around(key)).owners).toEqual(["agent:c"]);
  });

  it("LOCK-12: all readers at the head of the line get it together, and a writer behind them does not", async () => {
    const writer = client("w", "work");
    const grant = await hold(writer);
    const readers = ["a", "b"].map((name) => client(name, "work", "read"));
    for (const reader of readers) await queue(reader);
    await queue(client("late", "work"));
    await store.locks.release([grant], writer.party);
    expect((await around("work")).owners).toEqual(["agent:a", "agent:b"]);
    expect((await around("work")).waiters).toHaveLength(1);
  });

  // kills: handed-first-lease
  it("STALE-2: what nobody took up is over after its first lease, and the next in line gets it", async () => {
    const [a, b, c] = [client("a", "work"), client("b", "work"), client("c", "work")];
    const first = await hold(a);
    const late = await queue(b);
    await store.locks.release([first], a.party);
    const lost = handed("work", b);
    const waiting = await queue(c);
    nowMs += FIRST_LEASE_MS + 1;
    expect(await c.ask(waiting)).toMatchObject({ kind: "granted", ended: [{ lockId: lost?.lockId }] });
    expect(handed("work", b)).toBeNull();
    expect(await b.ask(late)).toMatchObject({ kind: "queued" });
    await expect(store.locks.renew([lost as Grant], null)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
  });

  it("STALE-2: a waiter that comes back too late takes over from itself, with a new fencing token", async () => {
    const [a, b] = [client("a", "work"), client("b", "work")];
    const first = await hold(a);
    const ticket = await queue(b);
    await store.locks.release([first], a.party);
    const lost = handed("work", b);
    nowMs += FIRST_LEASE_MS + 1;
    const answer = await b.ask(ticket);
    expect(answer).toMatchObject({ kind: "granted", ended: [{ lockId: lost?.lockId }] });
    const [grant] = answer.kind === "granted" ? answer.grants : [];
    expect(grant?.fencingToken).toBeGreaterThan(lost?.fencingToken ?? 0);
  });

  it.each([
    ["one who did not say so", "work", { mayInherit: false }],
    ["one who waits below", "work/part", {}],
    ["one whose profile time alone does not end", "project:p", {}],
  ])("LOCK-12: %s is woken and asks for itself", async (_, key, change) => {
    const above = key.split("/")[0] ?? key;
    const [a, b] = [client("a", above), client("b", key, "write", change)];
    const first = await hold(a);
    const ticket = await queue(b);
    await store.locks.release([first], a.party);
    expect((await around(above)).owners).toEqual([]);
    expect(await b.ask(ticket)).toMatchObject({ kind: "granted", grants: [{ leaseMs: LEASE_MS }] });
  });

  it("LOCK-16: as many places of a semaphore are handed over as were left", async () => {
    const place = (name: string) =>
      client(name, "pool", "write", { wants: [{ resource: parseKey("pool"), mode: "write", permits: 2 }] });
    const [a, b, c, d] = [place("a"), place("b"), place("c"), place("d")];
    const first = await hold(a);
    await hold(b);
    for (const waiter of [c, d]) await queue(waiter);
    await store.locks.release([first], a.party);
    expect((await around("pool")).owners).toEqual(["agent:b", "agent:c"]);
    expect((await around("pool")).waiters.map(({ owner }) => owner)).toEqual(["agent:d"]);
  });

  it("LOCK-12: several keys are not handed over, neither by nor to those who have several", async () => {
    const [a, b] = [client("a", "x"), client("b", "x")];
    const first = await hold(a);
    const second = await hold(client("a", "y"));
    const several = client("c", "x", "write", {
      wants: ["x", "y"].map((key) => ({ resource: parseKey(key), mode: "write" as const, permits: null })),
    });
    await queue(several);
    await queue(b);
    await store.locks.release([first], a.party);
    expect((await around("x")).owners).toEqual([]);
    expect((await around("y")).owners).toEqual([second.owner]);
  });
});

describe("handing over in files, where the line is not part of the commit", () => {
  beforeEach(() => open("file"));

  // kills: handed-twice
  it.each(["write", "read"] as const)(
    "LOCK-12: a place in line that a crash left holds nobody back (%s)",
    async (mode) => {
      const line = join(folder, "locks/work/line.jsonl");
      const a = client("a", "work");
      const heirs = [client("b", "work", mode), client("c", "work", mode)];
      const first = await hold(a);
      for (const heir of heirs) await queue(heir);
      const last = client("d", "work");
      await queue(last);
      const before = readFileSync(line);
      await store.locks.release([first], a.party);
      // As if it had been killed after tree.json and before the line.
      writeFileSync(line, before);
      for (const heir of heirs) {
        const grant = handed("work", heir);
        if (grant === null) throw new Error("it was passed over");
        await store.locks.release([grant], heir.party);
        expect(handed("work", heir)).toBeNull();
      }
      expect((await around("work")).owners).toEqual(["agent:d"]);
    },
  );

  it("STORE-6: what cannot be handed over is released all the same", async () => {
    const [a, b] = [client("a", "work"), client("b", "work")];
    const first = await hold(a);
    const ticket = await queue(b);
    const path = join(folder, "locks/work/tree.json");
    const record = JSON.parse(readFileSync(path, "utf8"));
    // A number would have to be reserved, in a file that cannot be read.
    writeFileSync(path, `${JSON.stringify({ ...record, fence: record.fence_reserved })}\n`);
    writeFileSync(join(folder, "locks/work/fence.json"), "not json");
    await store.locks.release([first], a.party);
    expect(await around("work")).toMatchObject({ owners: [], waiters: [{ ticketId: ticket }] });
  });
});
