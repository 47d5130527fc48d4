import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AUDIT_EVENTS, type AuditEvent } from "../../../src/lock/audit.js";
import { anyCrowd } from "../../fixtures/differential/history.fixture.js";
import { openSideBySide, type SideBySide } from "../../fixtures/differential/side-by-side.fixture.js";

const HISTORIES = 160;
const CROWDS = 60;
/** Told by features above the lock verbs, and by a store that finds a torn chain after a crash. */
const NOT_HERE: readonly AuditEvent[] = [
  "published",
  "publish_undone",
  "snapshot",
  "restore",
  "job",
  "chain_repaired",
  "fence_raised",
  "overlap",
];

let stores: SideBySide;

beforeAll(async () => {
  stores = await openSideBySide();
});
afterAll(() => stores.close());

describe("the same history", () => {
  it("STORE-1, STORE-2, STORE-3: gives the same answers, grants, lines and records on every store", async () => {
    await stores.compare(HISTORIES);
    const events = AUDIT_EVENTS.filter((event) => !NOT_HERE.includes(event));
    expect(
      events.filter((event) => !stores.seen.has(event)),
      "every kind of event happened",
    ).toEqual([]);
    for (const code of ["E_LOCK_ORDER", "E_LOCK_EXPIRED", "E_LOCK_NOT_HELD", "E_FENCING_MISMATCH", "E_FORBIDDEN"])
      expect(stores.seen, "every kind of refusal happened").toContain(code);
  }, 600_000);

  it("LOCK-12: a crowd at one key is served alike on every store, with everything that is handed over", async () => {
    await stores.compare(CROWDS, anyCrowd);
    expect(stores.seen).toContain("handed_over");
  }, 600_000);
});
