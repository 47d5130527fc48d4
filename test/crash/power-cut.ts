/** Random histories with detached and ordinary grants, the power cut at any moment of them, and what must be left. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { Holdfast } from "../../src/lease/holdfast.js";
import type { Lease } from "../../src/lease/lease.js";
import type { GrantRecord } from "../../src/lock/grant.js";
import { openFileStore } from "../../src/store/file/open.js";
import type { Clock } from "../../src/support/clock.js";
import { isHoldfastError } from "../../src/support/errors.js";
import { faults } from "../fixtures/fault-injection.mjs";
import { recordDisk } from "../fixtures/fault-power-cut.mjs";
import { createWorld, type World } from "../fixtures/fault-scenarios.mjs";
import { seeded } from "../seeded.js";

/** Moments are counts of file operations. */
interface Fact {
  readonly grant: GrantRecord;
  readonly isDetached: boolean;
  readonly toldAt: number;
  /** When ending it began, and when its holder was told that it had ended. */
  endFrom: number;
  endedAt: number;
}

const DEEP = ["alpha/p", "alpha/q", "alpha/r", "alpha/s", "alpha/t"];
const KEYS = ["alpha", "alpha/b", "alpha/b/c", ...DEEP, "beta", "beta/x/y", "gamma/z"];

function boot(dir: string, bootId: string): World {
  const bootedAt = Date.now();
  const clock: Clock = () => ({ wallMs: Date.now(), bootMs: Date.now() - bootedAt, bootId, machineId: "this machine" });
  return createWorld({ openFileStore, Holdfast, createSystemClock: () => clock }, dir);
}

/** Lives through a history and returns what its clients were told. */
async function live(dir: string, random: () => number, steps: number) {
  faults.watch(dir);
  faults.skipSyncs();
  const disk = recordDisk(dir);
  const facts: Fact[] = [];
  const held: { lease: Lease; facts: Fact[] }[] = [];
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const client = await boot(dir, "before the cut").open("admin:one");

  const acquire = async (): Promise<void> => {
    const keys = KEYS.filter((key) => random() < (DEEP.includes(key) ? 0.15 : 0.25));
    const isDetached = random() < 0.4;
    const mode = random() < 0.6 ? "read" : "write";
    const metadata = random() < 0.2 ? { note: "x".repeat(5_000) } : {};
    const options = { mode, detached: isDetached, ttl: "1h", metadata } as const;
    const lease = await client.tryAcquire(keys.length === 0 ? ["alpha"] : keys, options);
    if (lease === null) return;
    const toldAt = disk.length;
    const told = lease.grants.map((grant) => ({ grant, isDetached, toldAt, endFrom: Infinity, endedAt: Infinity }));
    facts.push(...told);
    held.push({ lease, facts: told });
  };
  /** Whatever `how` ends: until it is told, that is open. */
  const end = async (ended: readonly Fact[], how: () => Promise<unknown>): Promise<void> => {
    for (const fact of ended) fact.endFrom = Math.min(fact.endFrom, disk.length);
    await how().catch(expectRefusal);
    for (const fact of ended) fact.endedAt = Math.min(fact.endedAt, disk.length);
  };
  const release = async (): Promise<void> => {
    const one = pick(held);
    if (one === undefined) return;
    held.splice(held.indexOf(one), 1);
    await end(one.facts, () => one.lease.release());
  };
  const breakKey = async (): Promise<void> => {
    const key = pick(KEYS) ?? "alpha";
    const broken = facts.filter((fact) => fact.grant.resource === key && fact.endFrom === Infinity);
    await end(broken, () => client.break(key, { reason: "test" }));
  };
  for (let step = 0; step < steps; step += 1) {
    const luck = random();
    if (luck < 0.5) await acquire().catch(expectRefusal);
    else if (luck < 0.7) await pick(held)?.lease.renew().catch(expectRefusal);
    else if (luck < 0.9) await release();
    else await breakKey();
  }
  disk.stop();
  return { disk, facts };
}

/** Some requests of a random history make no sense. */
function expectRefusal(error: unknown): void {
  if (!isHoldfastError(error)) throw error;
}

/** The power goes at a random moment; the machine comes up again and clients go on. */
async function cutAndGoOn(
  history: Awaited<ReturnType<typeof live>>,
  target: string,
  random: () => number,
): Promise<void> {
  const cut = 1 + Math.floor(random() * history.disk.length);
  history.disk.layOut(cut, target, random);
  const client = await boot(target, "after the cut").open("agent:after");
  try {
    for (const key of KEYS) {
      const about = history.facts.filter(
        ({ grant, toldAt }) => toldAt <= cut && treeOf(grant.resource) === treeOf(key),
      );
      const lease = await client.tryAcquire(key);
      const standing = about.filter((fact) => fact.isDetached && fact.endFrom > cut);
      const inTheWay = standing.filter(({ grant }) => touches(grant.resource, key));
      if (inTheWay.length > 0) expect(lease, `${key} is held by ${inTheWay[0]?.grant.lock_id}`).toBeNull();
      const maybe = about.some((fact) => fact.isDetached && fact.endedAt > cut && touches(fact.grant.resource, key));
      const unsettled = history.facts.some(
        (fact) => fact.isDetached && fact.toldAt > cut && touches(fact.grant.resource, key),
      );
      if (!maybe && !unsettled) expect(lease, `${key} is free`).not.toBeNull();
      for (const { grant } of about)
        if (lease !== null) expect(lease.fencingToken).toBeGreaterThan(grant.fencing_token);
      await lease?.release();
    }
    expect(await client.audit.verify()).toMatchObject({ ok: true });
    const entries = await client.audit.list({ limit: 50_000 });
    const told = new Set(entries.map(({ event, lock_id }) => `${event} ${lock_id}`));
    for (const { grant, isDetached, toldAt, endedAt } of history.facts) {
      if (!isDetached) continue;
      const id = grant.lock_id;
      if (toldAt <= cut) expect(told.has(`granted ${id}`), `entry of ${grant.resource}`).toBe(true);
      if (endedAt <= cut) expect(told.has(`released ${id}`) || told.has(`broken ${id}`), `end of ${id}`).toBe(true);
    }
  } finally {
    await client.close();
  }
}

function treeOf(key: string): string {
  return key.split("/", 1)[0] ?? "";
}

function touches(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

export async function livesThroughCuts(base: string, seed: number, steps: number, cuts: number): Promise<void> {
  const random = seeded(seed);
  const mark = faults.mark();
  const dir = join(base, `lived-${seed}`);
  const history = await live(dir, random, steps);
  faults.bury(mark);
  for (let each = 0; each < cuts; each += 1) {
    const target = join(base, `cut-${seed}-${each}`);
    const choices = seeded(seed * 1_000 + each);
    try {
      await cutAndGoOn(history, target, choices);
    } catch (error) {
      throw new Error(`seed ${seed}, cut ${each}: ${(error as Error).message}`, { cause: error });
    }
    rmSync(target, { recursive: true, force: true });
  }
  rmSync(dir, { recursive: true, force: true });
}
