/** Deaths and errors of the disk at the file operations of a lock, an unlock, a recovery. */
import { describe, expect, it } from "vitest";
import { inParallel } from "../../fixtures/crash/kill.fixture.js";
import { failEverywhere, killAt, operationsOf, sweep } from "../../fixtures/deliverable/crash-sweep.fixture.js";
import { SCENARIOS } from "../../fixtures/deliverable/scenarios.fixture.mjs";

const names = Object.keys(SCENARIOS);

describe("DELIV-1 STALE-5: stopped at any file operation, the lock is whole or not there, and the log is true", () => {
  // kills: deliverable-settle, deliverable-announce
  it.each(names)("%s", async (name) => {
    expect(await sweep(name)).toBeGreaterThan(5);
  });
});

describe("DELIV-1: an error of the disk is told, and the folder goes on", () => {
  it.each(["lock it detached", "take over from the dead", "unlock", "terminate", "recover a corrupt lock"])(
    "%s",
    async (name) => {
      expect(await failEverywhere(name, "ENOSPC")).toBeGreaterThan(5);
    },
  );
});

describe("DELIV-1: killed before and after file operations", () => {
  it.each(["lock a folder for the first time", "take over from the dead", "unlock", "terminate"])(
    "%s",
    async (name) => {
      const count = (await operationsOf(name)).length;
      const points = Array.from({ length: Math.ceil(count / 4) }, (_, at) => at * 4 + 1);
      await inParallel([...points, count], 2, async (at) => {
        await killAt(name, at, at === count ? "after" : "before", "kill");
      });
    },
    300_000,
  );
});
