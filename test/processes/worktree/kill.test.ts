/** Real kills at a sample of the file operations of each verb; the whole sweep is in test/soak/worktree/everything.soak.test.ts. */
import { describe, expect, it } from "vitest";
import {
  failEverywhere,
  killEverywhere,
  prepareStage,
  type Verb,
} from "../../fixtures/worktree/crash-sweep.fixture.js";

describe("TREE-5, TREE-8: killed at any operation, a verb leaves the old state or the new one", () => {
  it.each([
    ["snapshot", 13],
    ["restore-new", 23],
    ["restore-inplace", 37],
    ["gc", 7],
  ] as const satisfies readonly (readonly [Verb, number])[])("%s", { timeout: 600_000 }, async (verb, every) => {
    const stage = await prepareStage(verb);
    expect(await killEverywhere(stage, { every, from: 2 })).toBeGreaterThan(2);
    await failEverywhere(stage, "ENOSPC", { every: 2 * every, from: 5 });
    await stage.scene.close();
  });
});
