/** A step of the documents ended at every file operation, also while the next one repairs; and disk errors everywhere. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { documentsAt, newFastFolder } from "../../fixtures/documents/documents.fixture.js";
import type { FaultKind } from "../../fixtures/fault-injection.fixture.mjs";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";
import { comeNext, disturbed, expectOneOf, forget, STEPS, stateAfterNext, stateOf } from "./scenarios.fixture.js";

/** What happens to those who repair. A full journal takes long, and is settled by the same lines. */
const REPAIRS: readonly (readonly [string, FaultKind, readonly string[]])[] = [
  ["dies too", "stop", Object.keys(STEPS)],
  ["meets EIO", "EIO", ["several documents and a log"]],
];

// kills: documents-redo
describe.each(Object.entries(STEPS))("%s", (name, step) => {
  let base: string;
  let after: string;
  let course: readonly string[];

  beforeAll(async () => {
    base = newFastFolder();
    const { dir, seen, outcome } = await disturbed(base, step, 0, "none");
    expect(outcome).toBe("done");
    after = await stateOf(dir, step.boot);
    course = seen;
    forget(dir);
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("BOARD-2 a death at any operation leaves all of it or nothing, once somebody comes next", async () => {
    expect(course.length).toBeGreaterThan(4);
    for (let at = 1; at <= course.length; at += 1)
      for (const what of deathsAt(course[at - 1] ?? "")) {
        const where = `${what} at ${at} of ${course.length}, ${course[at - 1]}`;
        const { dir, before, outcome } = await disturbed(base, step, at, what);
        expect(outcome, where).toBe("died");
        await stateOf(dir, step.boot); // No reader meets a half-written file.
        await comeNext(dir, step.boot);
        expectOneOf(await stateAfterNext(dir, step.boot), [before, after], where);
        forget(dir);
      }
  });

  const repairs = REPAIRS.filter(([, , steps]) => steps.includes(name));
  // kills: documents-half-refused (the one who repairs meets EIO)
  it.each(repairs)("BOARD-2 the same when the one who repairs %s", async (_, what) => {
    for (let at = 1; at <= course.length; at += 1) {
      const { dir, before } = await disturbed(base, step, at, "stop");
      for (let second = 1; ; second += 1) {
        const mark = faults.mark();
        const repairer = documentsAt(dir, step.boot);
        faults.arm({ at: second, what, changesOnly: true });
        const isDone = await repairer.transact(() => true).catch(() => false);
        const wasDisturbed = faults.disarm().seen.length >= second;
        faults.bury(mark);
        if (isDone && !wasDisturbed) break;
      }
      expectOneOf(await stateAfterNext(dir, step.boot), [before, after], `${course[at - 1]}, then ${what} everywhere`);
      forget(dir);
    }
  });

  it.each<FaultKind>(["EIO", "short"])(
    "BOARD-2 %s anywhere: all of it or nothing, and success only if all",
    async (what) => {
      for (let at = 1; at <= course.length; at += 1) {
        const { dir, before, outcome } = await disturbed(base, step, at, what);
        await comeNext(dir, step.boot);
        const found = await stateAfterNext(dir, step.boot);
        expectOneOf(found, outcome === "done" ? [after] : [before, after], `${what} at ${course[at - 1]}`);
        forget(dir);
      }
    },
  );
});

function deathsAt(call: string): FaultKind[] {
  return call.startsWith("writeSync") ? ["stop", "torn"] : ["stop"];
}
