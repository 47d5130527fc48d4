/** DASH-1: the record of what happened, looked at again and again. */
import { describe, expect, it } from "vitest";
import { Trail } from "../../../src/apps/dash/trail.js";
import { createAuditTrail } from "../../../src/client/reading/audit-trail.js";
import type { AuditEntry, AuditFilter } from "../../../src/lock/audit.js";
import type { Key } from "../../../src/lock/key.js";
import type { AuditPage, Store } from "../../../src/store/contract.js";

/** Chains in memory, which count how often they are looked at. */
class Chains {
  readonly #chains = new Map<Key, AuditEntry[]>();
  looks = 0;
  isAway = false;
  /** How long reading 500 entries takes. */
  pageMs = 0;
  readonly trail: Trail;

  constructor() {
    const reader = {
      auditHeads: async () => {
        this.#look();
        return new Map([...this.#chains].map(([tree, chain]) => [tree, chain.length]));
      },
      audit: async ({ tree, afterSeq, limit }: AuditPage) => {
        this.#look();
        if (this.pageMs > 0) await new Promise((resolve) => setTimeout(resolve, this.pageMs));
        return (this.#chains.get(tree) ?? []).slice(afterSeq, afterSeq + limit);
      },
    };
    this.trail = new Trail(createAuditTrail({ reader } as unknown as Store));
  }

  #look(): void {
    this.looks += 1;
    if (this.isAway) throw new Error("the store is away");
  }

  add(tree: string, second: number, count = 1): void {
    const chain = this.#chains.get(tree as Key) ?? [];
    this.#chains.set(tree as Key, chain);
    for (let more = 0; more < count; more += 1) {
      const seq = chain.length + 1;
      const at = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
      chain.push({ seq, at, event: "granted", resource: tree, hash: `${tree}${seq}` } as AuditEntry);
    }
  }

  replace(tree: string): void {
    this.#chains.delete(tree as Key);
  }

  /** All of it, however long that takes. */
  async newest(filter: AuditFilter, limit: number): Promise<readonly AuditEntry[]> {
    for (;;) {
      const { entries, searched } = await this.trail.newest(filter, limit);
      if (searched === 1) return entries;
    }
  }

  async names(limit = 10): Promise<string[]> {
    return (await this.newest({}, limit)).map(({ hash }) => hash);
  }
}

describe("DASH-1: the trail", () => {
  it("reads nothing while nobody looks, and then what is new", async () => {
    const chains = new Chains();
    chains.add("a", 1);
    expect(await chains.names()).toEqual(["a1"]);
    const before = chains.looks;
    chains.add("b", 2);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(chains.looks).toBe(before);
    expect(await chains.names()).toEqual(["b1", "a1"]);
    expect(chains.looks).toBe(before + 2);
  });

  // kills: dash-clock-back
  it("has the newest on top also after a clock was set back, and each chain in its own order", async () => {
    const chains = new Chains();
    chains.add("a", 3_600);
    chains.add("b", 3_600);
    expect(await chains.names()).toEqual(["b1", "a1"]);
    for (const second of [1, 2, 3]) chains.add("a", second);
    expect(await chains.names()).toEqual(["a4", "a3", "a2", "b1", "a1"]);
    chains.add("b", 3_700);
    chains.add("a", 3_650, 2);
    expect(await chains.names(4)).toEqual(["b2", "a6", "a5", "a4"]);
  });

  it("a store that was away says so, and is looked at again when it is back", async () => {
    const chains = new Chains();
    chains.isAway = true;
    await expect(chains.names()).rejects.toThrow("away");
    chains.isAway = false;
    chains.add("a", 1);
    expect(await chains.names()).toEqual(["a1"]);
    chains.isAway = true;
    await expect(chains.names()).rejects.toThrow("away");
    chains.add("a", 2);
    chains.isAway = false;
    expect(await chains.names()).toEqual(["a2", "a1"]);
  });

  it("a store that was put in the place of another is read from its beginning", async () => {
    const chains = new Chains();
    chains.add("a", 1, 5);
    expect(await chains.names()).toHaveLength(5);
    chains.replace("a");
    chains.add("a", 9);
    expect(await chains.names()).toEqual(["a1"]);
  });

  it("keeps so many and knows since when they are all", async () => {
    const chains = new Chains();
    const begin = new Date(Date.UTC(2026, 0, 1));
    chains.add("a", 1, 10);
    expect((await chains.trail.since(begin)).completeSince).toBe(begin.toISOString());
    chains.add("a", 2, 15_000);
    chains.add("a", 3, 1);
    expect((await chains.trail.since(begin)).entries).toHaveLength(15_011);
    chains.add("a", 4, 15_000);
    const { entries, completeSince } = await chains.trail.since(begin);
    expect(entries).toHaveLength(20_000);
    expect(completeSince).toBe("2026-01-01T00:00:02.000Z");
    // So much since the last look is not read whole.
    chains.add("b", 5, 30_000);
    const later = await chains.trail.since(begin);
    expect(later.entries).toHaveLength(5_000);
    expect(later.completeSince).toBe("2026-01-01T00:00:05.000Z");
    expect((await chains.newest({ resource: "a" }, 3)).map(({ seq }) => seq)).toEqual([30_011, 30_010, 30_009]);
  });

  it("a time that moves on with every look is no new search each time", async () => {
    const chains = new Chains();
    chains.add("a", 100, 20_000);
    chains.add("a", 200, 5_000);
    const from = (second: number) => ({ since: new Date(Date.UTC(2026, 0, 1, 0, 0, second)) });
    await chains.newest(from(200), 9_000);
    const before = chains.looks;
    expect(await chains.newest(from(201), 9_000)).toHaveLength(0);
    expect(await chains.newest(from(200), 9_000)).toHaveLength(5_000);
    expect(chains.looks).toBe(before + 2);
    expect(await chains.newest(from(50), 9_000)).toHaveLength(9_000);
    const searched = chains.looks;
    expect(await chains.newest(from(51), 9_000)).toHaveLength(9_000);
    expect(await chains.newest(from(101), 9_000)).toHaveLength(5_000);
    expect(chains.looks).toBe(searched + 2);
  });

  it("those who look at one time look once", async () => {
    const chains = new Chains();
    chains.add("a", 1);
    await chains.names();
    const before = chains.looks;
    chains.add("a", 2);
    await Promise.all([chains.names(), chains.names(), chains.trail.since(new Date(0))]);
    expect(chains.looks).toBe(before + 2);
  });

  describe("a search that takes long", () => {
    const NONE = { text: "nothing has this" };
    const SOME = { text: "a1" };

    async function longChains(): Promise<Chains> {
      const chains = new Chains();
      chains.add("a", 1, 60_000);
      await chains.names();
      chains.pageMs = 15;
      return chains;
    }

    it("says how far it is, and goes on", async () => {
      const chains = await longChains();
      const told: number[] = [];
      do told.push((await chains.trail.newest(NONE, 10)).searched);
      while (told.at(-1) !== 1);
      expect(told.length).toBeGreaterThan(2);
      expect(told).toEqual([...new Set(told)].sort());
    });

    it("does not keep the next one waiting", async () => {
      const chains = await longChains();
      for (const letter of ["n", "no", "not"]) await chains.trail.newest({ text: `${letter} such` }, 10);
      const before = chains.looks;
      expect(await chains.newest(NONE, 10)).toEqual([]);
      expect(chains.looks - before).toBeLessThan(250); // 120 pages of its own, and what was to be looked for meanwhile.
      expect((await chains.trail.newest({ text: "n such" }, 10)).searched).toBeLessThan(1);
    });

    it("shows what was found before while more is looked for", async () => {
      const chains = await longChains();
      chains.pageMs = 0;
      expect(await chains.newest(SOME, 20)).toHaveLength(20);
      chains.pageMs = 15;
      const { entries, searched } = await chains.trail.newest({ text: "a1", resource: "a" }, 20);
      expect([entries.length, searched < 1]).toEqual([0, true]);
      const more = await chains.trail.newest(SOME, 12_000);
      expect([more.entries.length >= 20, more.searched < 1]).toEqual([true, true]);
    });
  });
});
