/** Calendars that are set back: what was published later is on record as later. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listManifests, publish } from "../../../src/publish.js";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { prepare } from "../../fixtures/publish/crash-sweep.fixture.js";
import { KEY, removeScene, treeOf } from "../../fixtures/publish/publish.fixture.js";

const MINUTE_MS = 60_000;

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

// kills: publish-begun-order, publish-begun-order-sql (postgres)
it.each(["sqlite", "file", "postgres"] as const)(
  "PUB-2: %s: of a target the last manifests are kept, in order, also when the clock is set back before each",
  async (kind) => {
    const scene = await prepare(base, { kind, replaces: true });
    const { target } = scene;
    const published: string[] = [];
    for (let at = 0; at < 8; at += 1) {
      const client = await scene.open();
      published.push((await publish({ holdfast: client, key: KEY }, target, treeOf(`v${at}`))).manifest.id);
      await client.close();
      await scene.setClockBack(MINUTE_MS);
    }
    const client = await scene.open();
    const kept = await listManifests(client, { target });
    await client.close();
    expect(kept.map(({ id }) => id)).toEqual(published.slice(-kept.length));
    for (const { created_at: begun, committed_at: made } of kept) expect(String(made) > begun).toBe(true);
    removeScene(scene);
  },
);
