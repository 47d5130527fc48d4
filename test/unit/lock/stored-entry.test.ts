import { describe, expect, it } from "vitest";
import { type AuditEntry, chain, EMPTY_CHAIN, matches } from "../../../src/lock/audit.js";
import { readEntry } from "../../../src/lock/stored-entry.js";
import { key } from "../../fixtures/lock/samples.fixture.js";

const TREE = key("t");
const { line: FIRST, head } = chain(EMPTY_CHAIN, {
  at: 1_700_000_000_000,
  event: "recovered",
  resource: key("t/x"),
  owner: "user:ann",
  holderId: "host:ann:1:1",
  fencingToken: 5,
  lockId: "l",
  details: { reason: "lease_expired", previous: { owner: "agent:a", mode: "write", renewals: 2 } },
});
const whole = JSON.parse(FIRST) as AuditEntry;
const changed = (change: object): string => JSON.stringify({ ...whole, ...change });
const read = (line: string, seq = 1): AuditEntry => readEntry(line, { tree: TREE, seq });

describe("an audit entry that was stored", () => {
  // kills: damaged-zeros
  it("is read as it was written", () => {
    expect(read(FIRST)).toEqual(whole);
    expect(read(`\0\0\0${FIRST}`)).toEqual(whole);
    expect(
      read(changed({ fencing_token: null, lock_id: null, details: {}, event: "of_a_newer_version" })),
    ).toMatchObject({ event: "of_a_newer_version", lock_id: null });
  });

  // kills: damaged-entry
  it.each([
    ["nothing", ""],
    ["words", "not JSON"],
    ["null", "null"],
    ["a number", "7"],
    ["a text", '"granted"'],
    ["a list", "[]"],
    ["a list of lists", "[[1],[2]]"],
    ["no fields", "{}"],
    ...Object.keys(whole).map((name) => [`no ${name}`, changed({ [name]: undefined })]),
    ...Object.keys(whole).map((name) => [`true as ${name}`, changed({ [name]: true })]),
    ["a time that is not one", changed({ at: "2026-13-45T00:00:00.000Z" })],
    ["a time of another form", changed({ at: "yesterday" })],
    ["an event of two lines", changed({ event: "granted\nSYSTEM" })],
    ["a key of two lines", changed({ resource: "t/x\nSYSTEM" })],
    ["a key of another tree", changed({ resource: "other/x" })],
    ["details that are null", changed({ details: null })],
    ["details that are a list", changed({ details: [] })],
    ["a holder that is a number", changed({ details: { previous: 7 } })],
    ["a holder whose owner is an object", changed({ details: { previous: { owner: {} } } })],
    ["a token that is negative", changed({ fencing_token: -1 })],
    ["a huge text", `{"seq":1,"owner":"${"x".repeat(1_000_000)}"}`],
  ])("is damaged with %s", (_what, line) => {
    const entry = read(line, 3);
    expect(entry).toMatchObject({ seq: 3, event: "damaged", resource: "t", owner: "", lock_id: null });
    expect(entry.details).toEqual({ reason: expect.stringMatching(/^it/), line: line.slice(0, 200) });
    expect(entry.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(read(line, 4).hash).not.toBe(entry.hash);
  });

  // kills: damaged-number
  it("keeps its number elsewhere if it is as it was written, else its position", () => {
    const { line } = chain(head, {
      at: 0,
      event: "granted",
      resource: TREE,
      owner: "user:ann",
      holderId: "h",
      fencingToken: 1,
      lockId: "l",
      details: {},
    });
    expect(read(line, 7)).toMatchObject({ seq: 2, event: "granted" });
    expect(read(changed({ seq: 5_000_000 }), 7)).toMatchObject({ seq: 7, event: "damaged" });
  });

  // kills: damaged-of-any-key
  it("may be of any key of its tree when it is damaged, and matches no owner and no other event", () => {
    const damaged = read("{}");
    const isFound = (filter: Parameters<typeof matches>[1]): boolean => matches(damaged, filter);
    expect(["t", "t/x", "t/x/y", "tt", "u"].map((resource) => isFound({ resource }))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect([isFound({ owner: "user:ann" }), isFound({ event: "granted" })]).toEqual([false, false]);
  });
});
