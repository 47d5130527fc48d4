/** What a dead publisher left is found and settled without anybody taking its lock. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findUnfinished, publish, settleUnfinished } from "../../../src/publish.js";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";
import { prepare } from "../../fixtures/publish/crash-sweep.fixture.js";
import { debrisAt, KEY, removeScene, treeOf, verifiedVersion } from "../../fixtures/publish/publish.fixture.js";

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

it.each(["sqlite", "file", "postgres"] as const)(
  "PUB-3: %s: publish_left is found and undone; a live one is left alone",
  async (kind) => {
    const scene = await prepare(base, { kind, replaces: true });
    const doomed = await scene.open("agent:doomed");
    const keeper = await scene.open("user:keeper");
    const lease = await doomed.acquire(KEY, { ttl: "24h" });
    const never = publish(lease, scene.target, async (stage) => {
      await treeOf("new")(stage);
      expect(await findUnfinished(keeper)).toEqual([]);
      expect(await settleUnfinished(keeper)).toEqual([]);
      await scene.pass(25 * 3_600_000);
      await keeper.recover(KEY);
      expect(await findUnfinished(keeper)).toMatchObject([{ kind: "publish_left", manifest: { state: "pending" } }]);
      expect(await settleUnfinished(keeper)).toMatchObject([{ state: "aborted", cleared: true }]);
      expect(debrisAt(scene.target)).toEqual([]);
    });
    await expect(never).rejects.toMatchObject({ code: "E_LOCK_EXPIRED" });
    expect(await findUnfinished(keeper)).toEqual([]);
    expect(await verifiedVersion(keeper, scene.target)).toBe("old");
    await doomed.close();
    await keeper.close();
    faults.disarm();
    removeScene(scene);
  },
);
