/** The whole sweep: every verb is killed before and after every file operation, and fails at each. A slice with =sample. */
import { afterAll, describe, it } from "vitest";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";
import {
  failEverywhere,
  killEverywhere,
  prepareStage,
  type Verb,
} from "../../fixtures/worktree/crash-sweep.fixture.js";
import { everyOther, killSettling, prepareInterrupted } from "../../fixtures/worktree/unfinished-restore.fixture.js";

const VERBS: readonly Verb[] = ["snapshot", "restore-new", "restore-inplace", "gc"];
const count = { kills: 0, failures: 0, settlings: 0 };

afterAll(() => console.log("worktree cases:", count));

describe(`TREE-5, TREE-8: killed at any operation, a verb leaves the old state or the new one${sample("killed at every 29th operation, failed at every 41st")}`, () => {
  it.each(VERBS)("%s", async (verb) => {
    const stage = await prepareStage(verb);
    count.kills += await killEverywhere(stage, { every: IS_SAMPLE ? 29 : 1 });
    for (const errno of ["ENOSPC", "EIO"] as const)
      count.failures += await failEverywhere(stage, errno, {
        every: IS_SAMPLE ? 41 : 2,
        from: errno === "EIO" ? 1 : 0,
      });
    await stage.scene.close();
  });
});

describe(`TREE-8: a restore in place that was killed half way is finished or undone, whoever is killed doing so${sample("every 97th operation")}`, () => {
  it.each(["settle", "revert"] as const)("%s", async (verb) => {
    const scene = await prepareInterrupted();
    count.settlings += await killSettling(scene, verb, everyOther(IS_SAMPLE ? 97 : 1));
    await scene.stage.scene.close();
  });
});
