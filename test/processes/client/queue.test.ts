/** The line across processes: first come first served, and handed on without waiting for a poll. */
import { describe, expect, it } from "vitest";
import type { Section } from "../../fixtures/client/client-process.fixture.js";
import { PATIENTLY, Scene, STORES } from "../../fixtures/client/processes.fixture.js";
import { comesOff } from "../../fixtures/succeeds-once.fixture.js";

const PROCESSES = 8;
const HOLD_MS = 2;
const RUN_MS = 2_500;
/** A poll would take 25 ms in the middle. */
const HANDED_ON_MS = 10;

/** Middle value. */
function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** From the moment one begins to release to the moment the next is in. */
function gapsOf(sections: readonly Section[]): number[] {
  return sections.slice(1).map((section, at) => section.from - (sections[at]?.to ?? Number.NaN));
}

/** How late this machine is with anything, as busy as it is: by so much the middle stay was longer than asked for. */
function latenessOf(sections: readonly Section[]): number {
  return median(sections.map(({ from, to }) => to - from - HOLD_MS));
}

describe.each(STORES)("the line (%s)", PATIENTLY, (kind) => {
  // kills: wake-up, heirs-told
  it("LOCK-12: processes take turns, one after the other, and none has to wait for a poll", async () => {
    await using scene = new Scene(kind);
    const clients = await scene.startMany(PROCESSES);
    await comesOff(async () => {
      const runs = await Promise.all(
        clients.map((client) => client.loop("work", { holdMs: HOLD_MS, forMs: RUN_MS, wait: "1m" })),
      );
      const sections = runs.flat().sort((a, b) => a.from - b.from);
      const gaps = gapsOf(sections);
      expect(Math.min(...gaps), "two were inside at once").toBeGreaterThan(0);
      const counts = runs.map((run) => run.length);
      const isFair = Math.max(...counts) <= 1.5 * Math.min(...counts) + 1;
      return isFair && median(gaps) < HANDED_ON_MS + 5 * latenessOf(sections);
    });
  });

  // kills: order
  it("LOCK-13: two processes that want what the other holds do not wait for each other", async () => {
    await using scene = new Scene(kind);
    const [one, two] = await scene.startTwo();
    const [a, b] = [await one.acquire("a"), await two.acquire("b")];
    const forward = a.acquireMore("b", { wait: "1m" });
    await scene.untilInLine("b", "agent:a", forward);
    // It hears so at once: nobody waits for a minute here.
    await expect(b.acquireMore("a", { wait: "1m" })).rejects.toMatchObject({ code: "E_LOCK_ORDER" });
    await b.release();
    await forward;
  });
});
