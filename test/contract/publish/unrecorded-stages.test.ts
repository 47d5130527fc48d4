/** A power cut takes a manifest, which is on the disk only once it is sealed, and leaves the stage. */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { examine } from "../../../src/apps/doctor/examine.js";
import { kernelOf } from "../../../src/client/kernel.js";
import { findWorkspace } from "../../../src/features/configuration.js";
import { newStageName } from "../../../src/features/publish/stage/stage-name.js";
import { publish } from "../../../src/publish.js";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";
import { prepare } from "../../fixtures/publish/crash-sweep.fixture.js";
import {
  debrisAt,
  KEY,
  removeScene,
  type Scene,
  treeOf,
  verifiedVersion,
} from "../../fixtures/publish/publish.fixture.js";

const machine = vi.hoisted(() => ({ hasJustStarted: false }));
vi.mock("node:os", async (original) => {
  const os = await original<typeof import("node:os")>();
  // A second from now: what was made in this millisecond is older, too.
  return { ...os, uptime: () => (machine.hasJustStarted ? -1 : os.uptime()) };
});

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterEach(() => {
  machine.hasJustStarted = false;
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

const tmpOf = ({ target }: Scene): string => join(target, "..", "tmp");

function leaveStage(scene: Scene, name: string): void {
  mkdirSync(join(tmpOf(scene), name, "sub"), { recursive: true });
  writeFileSync(join(tmpOf(scene), name, "sub", "page"), "lost");
}

// kills: publish-forgotten
it.each(["sqlite", "file"] as const)("PUB-3: %s: the next publish removes it", async (kind) => {
  const scene = await prepare(base, { kind, replaces: true });
  const client = await scene.open();
  leaveStage(scene, newStageName(kernelOf(client).url, scene.target));
  machine.hasJustStarted = true;
  await publish({ holdfast: client, key: KEY }, scene.target, treeOf("new"));
  expect(await verifiedVersion(client, scene.target)).toBe("new");
  await client.close();
  expect(debrisAt(scene.target)).toEqual([]);
  removeScene(scene);
});

const consult = ({ dir, store }: Scene, repair: boolean) => {
  markWorkspace(dir);
  const workspace = findWorkspace({ root: dir, store, owner: "user:doctor" }, { cwd: dir, env: {} });
  return examine(workspace, { env: { XDG_STATE_HOME: dir }, repair });
};

// kills: doctor-forgotten
it.each(["sqlite", "file"] as const)(
  "PUB-3: %s: the doctor finds it, and removes just that when asked to",
  async (kind) => {
    const scene = await prepare(base, { kind, replaces: true });
    const client = await scene.open();
    const lost = newStageName(kernelOf(client).url, scene.target);
    const other = newStageName(kernelOf(client).url, `${scene.target}-2`);
    leaveStage(scene, other);
    machine.hasJustStarted = true;
    await publish({ holdfast: client, key: KEY }, scene.target, async (stage) => {
      await treeOf("new")(stage);
      leaveStage(scene, lost);
      const { findings } = await consult(scene, false);
      expect(findings).toMatchObject([{ code: "STAGE_LEFT", message: expect.stringContaining(lost), auto_safe: true }]);
      const there = readdirSync(tmpOf(scene));
      expect(there).toContain(lost);
      await consult(scene, true);
      expect(readdirSync(tmpOf(scene)).sort()).toEqual(there.filter((name) => name !== lost).sort());
    });
    expect(await verifiedVersion(client, scene.target)).toBe("new");
    expect((await consult(scene, false)).findings).toEqual([]);
    await client.close();
    removeScene(scene);
  },
);

// kills: publish-forgotten-since-boot
it("PUB-3: what was touched since the machine started is not removed", async () => {
  const scene = await prepare(base, { kind: "sqlite", replaces: true });
  const client = await scene.open();
  const name = newStageName(kernelOf(client).url, scene.target);
  leaveStage(scene, name);
  await publish({ holdfast: client, key: KEY }, scene.target, treeOf("new"));
  expect(readdirSync(tmpOf(scene))).toEqual([name]);
  await client.close();
  removeScene(scene);
});

it("PUB-3: what others have there is not removed", async () => {
  const scene = await prepare(base, { kind: "sqlite", replaces: true });
  const client = await scene.open();
  const { url } = kernelOf(client);
  const others = [
    newStageName(url, `${scene.target}-2`),
    newStageName(`${url}-2`, scene.target),
    `${newStageName(url, scene.target)}.old`,
    randomUUID(),
    "mine",
  ];
  for (const name of others) leaveStage(scene, name);
  machine.hasJustStarted = true;
  await publish({ holdfast: client, key: KEY }, scene.target, treeOf("new"));
  expect(readdirSync(tmpOf(scene)).sort()).toEqual(others.sort());
  await client.close();
  removeScene(scene);
});

// kills: publish-order, publish-forgotten-on-record
it("PUB-3: the stage of a live writer is not removed", async () => {
  const scene = await prepare(base, { kind: "sqlite", replaces: true });
  const client = await scene.open();
  const other = await scene.open();
  const lease = await client.acquire(KEY);
  await publish(lease, scene.target, async (stage) => {
    await treeOf("slow")(stage);
    machine.hasJustStarted = true;
    await publish(await other.borrow(KEY, lease.token), scene.target, treeOf("quick"));
  });
  expect(await verifiedVersion(client, scene.target)).toBe("slow");
  await other.close();
  await client.close();
  expect(debrisAt(scene.target)).toEqual([]);
  removeScene(scene);
});
