/**
 * What a file store shows after a crash, and what must be true of it: the records are those that the audit calls live,
 * the chain is whole, and fencing tokens only grow.
 */
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { Holdfast } from "../../src/lease/holdfast.js";
import type { AuditEntry } from "../../src/lock/audit.js";
import type { GrantRecord } from "../../src/lock/grant.js";
import { openFileStore } from "../../src/store/file/open.js";
import { createSystemClock } from "../../src/support/clock.js";
import { createWorld, type Told, type World } from "../fixtures/fault-scenarios.mjs";

export function worldAt(dir: string): World {
  return createWorld({ openFileStore, Holdfast, createSystemClock }, dir);
}

function treeOf(resource: string): string {
  return resource.split("/", 1)[0] ?? "";
}

export interface Evidence {
  readonly grants: readonly GrantRecord[];
  /** By tree, in the order of the chain. */
  readonly chains: ReadonlyMap<string, readonly AuditEntry[]>;
}

/** Reads without any guard, as anybody may at any moment, and checks that what is read makes sense. */
export async function observe(dir: string, reader?: Holdfast): Promise<Evidence> {
  const client = reader ?? (await worldAt(dir).open("user:observer"));
  try {
    return await expectConsistent(client);
  } finally {
    await client.close();
  }
}

/** Records and audit tell the same, the chains are whole, and tokens grow. */
export async function expectConsistent(client: Holdfast): Promise<Evidence> {
  const grants = await client.list();
  const chains = new Map<string, AuditEntry[]>();
  for (const entry of [...(await client.audit.list({ limit: 50_000 }))].sort((a, b) => a.seq - b.seq)) {
    const tree = treeOf(entry.resource);
    chains.set(tree, [...(chains.get(tree) ?? []), entry]);
  }
  for (const { resource, lock_id } of grants)
    expect((await client.inspect(resource)).grants.map((grant) => grant.lock_id)).toContain(lock_id);
  expect(await client.audit.verify()).toMatchObject({ ok: true, bad: [] });
  const evidence = { grants, chains };
  expect(held(evidence)).toEqual(liveByAudit(evidence));
  for (const chain of chains.values()) expectGrowingTokens(chain);
  return evidence;
}

function held({ grants }: Evidence): string[] {
  return grants.map((grant) => `${grant.lock_id} ${grant.resource} ${grant.mode} ${grant.fencing_token}`).sort();
}

/** Replays the entries. */
function liveByAudit({ chains }: Evidence): string[] {
  const live = new Map<string, { resource: string; mode: string; token: number | null }>();
  for (const entry of [...chains.values()].flat()) {
    const id = entry.lock_id ?? "";
    const { resource, details, fencing_token: token } = entry;
    const before = live.get(String(details.old_lock_id ?? id));
    switch (entry.event) {
      case "granted":
        live.set(id, { resource, mode: String(details.mode), token });
        break;
      case "resumed":
        live.delete(String(details.old_lock_id));
        live.set(id, { resource, mode: before?.mode ?? "", token });
        break;
      case "upgraded":
      case "downgraded":
        live.set(id, { resource, mode: String(details.mode), token });
        break;
      case "released":
      case "recovered":
      case "stolen":
      case "broken":
        live.delete(id);
    }
  }
  return [...live].map(([id, { resource, mode, token }]) => `${id} ${resource} ${mode} ${token}`).sort();
}

function expectGrowingTokens(chain: readonly AuditEntry[]): void {
  let last = 0;
  for (const { event, details, fencing_token: token } of chain) {
    if (event === "recovered" || event === "broken") {
      const raised = Number(details.new_fencing_token ?? last);
      expect(raised).toBeGreaterThanOrEqual(last); // Equal within one step.
      last = raised;
    }
    const isNew =
      event === "resumed" || event === "upgraded" || (event === "granted" && details.nested_in === undefined);
    if (!isNew) continue;
    expect(token).toBeGreaterThan(last);
    last = token ?? 0;
  }
}

/** Every number of the tree of a key that anybody has seen. */
export function tokensIn(key: string, { chains }: Evidence, told: readonly Told[]): number[] {
  const tree = treeOf(key);
  const written = (chains.get(tree) ?? []).flatMap((entry) => [entry.fencing_token, entry.details.new_fencing_token]);
  const heard = told.filter((grant) => treeOf(grant.resource) === tree).map((grant) => grant.fencing_token);
  return [...written, ...heard].filter((token) => typeof token === "number");
}

/** The same for every run of a scenario: without ids, times, and where the numbers started. */
export function outline({ grants, chains }: Evidence): string[] {
  const ranks = new Map<string, number>();
  const rank = (resource: string, token: number | null): string =>
    `#${ranks.get(`${treeOf(resource)} ${token}`) ?? "-"}`;
  for (const [tree, chain] of chains) {
    const tokens = [...new Set(chain.map((entry) => entry.fencing_token))].sort((a, b) => (a ?? 0) - (b ?? 0));
    for (const [at, token] of tokens.entries()) ranks.set(`${tree} ${token}`, at);
  }
  const records = grants.map((grant) => {
    const renewed = grant.last_renewed_at === grant.created_at ? "" : " renewed";
    return `${grant.resource} ${grant.mode} of ${grant.owner} ${rank(grant.resource, grant.fencing_token)}${renewed}`;
  });
  const entries = [...chains.values()]
    .flat()
    .map((entry) => `${entry.resource} ${entry.event} by ${entry.owner} ${rank(entry.resource, entry.fencing_token)}`);
  return [...records.sort(), ...entries.sort()];
}

/**
 * Another client comes: it gets the keys at once, except those of detached grants, which only a break ends; its tokens
 * are higher than any seen or acknowledged before; afterwards everything still makes sense and nothing is left behind.
 */
export async function expectSuccessor(dir: string, keys: readonly string[], told: readonly Told[]): Promise<void> {
  const before = await observe(dir);
  const client = await worldAt(dir).open("admin:successor");
  try {
    for (const { resource } of detachedOf(before)) {
      await expect(client.acquire(resource)).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
      await client.break(resource, { reason: "the test goes on" });
    }
    const lease = await client.acquire(keys, { metadata: { after: "the crash" } });
    for (const { resource, fencing_token: token } of lease.grants)
      for (const old of tokensIn(resource, before, told)) expect(token).toBeGreaterThan(old);
    await observe(dir);
    await lease.release();
  } finally {
    await client.close();
  }
  const after = await observe(dir);
  for (const [tree, chain] of before.chains)
    expect(
      after.chains
        .get(tree)
        ?.slice(0, chain.length)
        .map((entry) => entry.hash),
    ).toEqual(chain.map((entry) => entry.hash));
  await expectTidy(dir);
}

/** Files under construction are left alone while they may be somebody's; a minute later whoever opens the store removes them. */
async function expectTidy(dir: string): Promise<void> {
  for (const name of debrisIn(dir)) utimesSync(join(dir, name), Date.now() / 1000 - 120, Date.now() / 1000 - 120);
  await (await worldAt(dir).open()).close();
  expect(debrisIn(dir)).toEqual([]);
}

function detachedOf({ grants, chains }: Evidence): GrantRecord[] {
  const ids = new Set<string | null>();
  for (const entry of [...chains.values()].flat())
    if (entry.details.detached === true || ids.has(String(entry.details.old_lock_id))) ids.add(entry.lock_id);
  return grants.filter((grant) => ids.has(grant.lock_id));
}

/** A file that was being replaced when the process died stays as `.new` until it is next replaced: one, not many. */
const EXPECTED = [
  /^(store|floor)\.(json|json\.new|guard)$/,
  /^(locks|alive|ops)$/,
  /^alive\/[0-9a-f]{24}$/,
  /^locks\/[^/]+$/,
  /^locks\/[^/]+\/(guard|audit\.jsonl|below)$/,
  /^locks\/[^/]+\/(tree|fence)\.json(\.new)?$/,
  /^locks\/[^/]+\/line\.jsonl$/,
  /^locks\/[^/]+\/below\/(.+\.d\/)?[^/]+(\.json|\.d)$/,
];

/** What does not belong into a store that nobody uses. */
function debrisIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" }).filter(
    (name) => !EXPECTED.some((pattern) => pattern.test(name)),
  );
}
