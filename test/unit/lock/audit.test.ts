import { describe, expect, it } from "vitest";
import {
  AUDIT_EVENTS,
  type AuditDraft,
  type AuditEntry,
  type ChainHead,
  chain,
  EMPTY_CHAIN,
  follow,
  matches,
} from "../../../src/lock/audit.js";
import { readEntry } from "../../../src/lock/stored-entry.js";
import { fc } from "../../fixtures/fast-check.fixture.js";
import { key } from "../../fixtures/lock/samples.fixture.js";

function draft(change: Partial<AuditDraft> = {}): AuditDraft {
  return {
    at: 1_700_000_000_000,
    event: "granted",
    resource: key("t/x"),
    owner: 'user:a"b\\c\u2028',
    holderId: "host:user:1:1",
    fencingToken: 5,
    lockId: "11111111-2222-3333-4444-555555555555",
    details: { mode: "write", text: 'quote " and , "hash":"' },
    ...change,
  };
}

const anyDraft = fc
  .record({
    at: fc.integer({ min: 0, max: 4e12 }),
    event: fc.constantFrom(...AUDIT_EVENTS),
    owner: fc.string(),
    fencingToken: fc.option(fc.nat()),
    lockId: fc.option(fc.uuid()),
    details: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }) as fc.Arbitrary<Record<string, unknown>>,
  })
  .map(draft);

function chained(drafts: readonly AuditDraft[]): { lines: string[]; heads: ChainHead[] } {
  const heads = [EMPTY_CHAIN];
  const lines = drafts.map((each) => {
    const { line, head } = chain(heads.at(-1) ?? EMPTY_CHAIN, each);
    heads.push(head);
    return line;
  });
  return { lines, heads };
}

function readAll(lines: readonly string[]): ChainHead | null {
  let head: ChainHead | null = EMPTY_CHAIN;
  for (const line of lines) head = head === null ? null : follow(head, line);
  return head;
}

describe("the chain", () => {
  it("AUDIT-1: an entry has exactly its fields and says what it was given", () => {
    const { lines } = chained([draft(), draft({ event: "released", fencingToken: null, lockId: null })]);
    const [first, second] = lines.map((line, at) => readEntry(line, { tree: key("t"), seq: at + 1 }));
    expect(first).toEqual({
      seq: 1,
      at: "2023-11-14T22:13:20.000Z",
      event: "granted",
      resource: "t/x",
      owner: draft().owner,
      holder_id: "host:user:1:1",
      fencing_token: 5,
      lock_id: draft().lockId,
      details: draft().details,
      prev_hash: EMPTY_CHAIN.hash,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(second).toMatchObject({ seq: 2, fencing_token: null, lock_id: null, prev_hash: first?.hash });
    for (const line of lines) expect(line).not.toContain("\n");
  });

  it("AUDIT-2: what was written is followed to its head", () => {
    fc.assert(
      fc.property(fc.array(anyDraft, { maxLength: 6 }), (drafts) => {
        const { lines, heads } = chained(drafts);
        expect(readAll(lines)).toEqual(heads.at(-1));
        for (const [at, line] of lines.entries()) {
          const { event, owner, details } = readEntry(line, { tree: key("t"), seq: at + 1 });
          expect({ event, owner }).toEqual({ event: drafts[at]?.event, owner: drafts[at]?.owner });
          expect(details).toEqual(JSON.parse(JSON.stringify(drafts[at]?.details)));
        }
      }),
    );
  });

  it("AUDIT-2: any edit, deletion, swap or insertion breaks it, at the entry it touches", () => {
    fc.assert(
      fc.property(
        fc.array(anyDraft, { minLength: 3, maxLength: 5 }),
        fc.nat(),
        fc.nat(),
        fc.constantFrom("edit", "delete", "swap", "insert", "append"),
        (drafts, which, where, how) => {
          const { lines } = chained(drafts);
          const at = which % (lines.length - 1);
          const line = lines[at] ?? "";
          const spot = where % line.length;
          const changed = [...lines];
          if (how === "edit")
            changed[at] = line.slice(0, spot) + (line[spot] === "7" ? "8" : "7") + line.slice(spot + 1);
          if (how === "delete") changed.splice(at, 1);
          if (how === "swap") changed.splice(at, 2, lines[at + 1] ?? "", line);
          if (how === "insert") changed.splice(at, 0, line);
          if (how === "append") changed[at] = `${line}7`;
          let head: ChainHead | null = EMPTY_CHAIN;
          let bad = 0;
          for (; head !== null && bad < changed.length; bad += 1) head = follow(head, changed[bad] ?? "");
          expect(head).toBe(null);
          expect(bad - 1).toBeGreaterThanOrEqual(at);
          expect(bad - 1).toBeLessThanOrEqual(at + 1);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("AUDIT-2: a chain that was cut has another head than the one kept apart", () => {
    const { lines, heads } = chained([draft(), draft(), draft()]);
    expect(readAll(lines.slice(0, 2))).toEqual(heads[2]);
    expect(heads[2]).not.toEqual(heads[3]);
    expect(follow(heads[2] ?? EMPTY_CHAIN, (lines[2] ?? "").slice(0, -9))).toBe(null);
  });

  it("AUDIT-4: filters by key and below, owner, event and time, bounds included", () => {
    const { line } = chain(EMPTY_CHAIN, draft({ owner: "agent:a" }));
    const entry = readEntry(line, { tree: key("t"), seq: 1 });
    const isFound = (filter: Parameters<typeof matches>[1]): boolean => matches(entry satisfies AuditEntry, filter);
    expect(isFound({})).toBe(true);
    expect(["t", "t/x", "t/x/y", "t/", "t/xx"].map((resource) => isFound({ resource }))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect([isFound({ owner: "agent:a" }), isFound({ owner: "agent:" })]).toEqual([true, false]);
    expect([isFound({ event: "granted" }), isFound({ event: "released" })]).toEqual([true, false]);
    const time = new Date(entry.at);
    const [before, after] = [new Date(time.getTime() - 1), new Date(time.getTime() + 1)];
    expect([before, time, after].map((since) => isFound({ since }))).toEqual([true, true, false]);
    expect([before, time, after].map((until) => isFound({ until }))).toEqual([false, true, true]);
  });
});
