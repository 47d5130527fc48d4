/** A publish under a key of its own holds the files of its target as well. On each store that a workspace can have. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { findUnfinished, publish, verifyManifests } from "../../../src/publish.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const versionIn = (folder: string): string => readFileSync(join(folder, "version"), "utf8");

describe.each(["file", "sqlite", "postgres"])("a target in the workspace of a %s store", (kind) => {
  let root: string;
  let target: string;
  let ours: Holdfast;
  let theirs: Holdfast;

  const version =
    (text: string) =>
    ({ path }: { readonly path: string }): void =>
      writeFileSync(join(path, "version"), text);

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), "holdfast-target-"));
    const store =
      kind === "postgres"
        ? await newPostgresStore(await sharedServer())
        : `${kind}:${join(root, ".holdfast", "store")}`;
    mkdirSync(join(root, ".holdfast"));
    writeFileSync(join(root, "holdfast.config.json"), JSON.stringify({ store }));
    target = join(root, "out");
    ours = await openHoldfast({ root, owner: "agent:ours", heart: "loop", wait: 0 });
    theirs = await openHoldfast({ root, owner: "user:theirs", heart: "loop", wait: 0 });
  });

  afterEach(async () => {
    await ours.close();
    await theirs.close();
    rmSync(root, { recursive: true, force: true });
  });

  it("is held with the key that the publish acquires, and both are given back", async () => {
    await publish({ holdfast: ours, key: "site" }, target, async (stage) => {
      version("1")(stage);
      expect((await theirs.list()).map(({ resource }) => resource)).toEqual(["path/out", "site"]);
      await expect(theirs.acquire("path/out/version")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    });
    expect(versionIn(target)).toBe("1");
    expect(await theirs.list()).toEqual([]);
  });

  it("is settled for the next holder while another target was published under the key and finished", async () => {
    const other = join(root, "other");
    await using lease = await ours.acquire("site");
    const never = publish(lease, target, async (stage) => {
      version("1")(stage);
      await publish(lease, other, version("2"));
      expect(await findUnfinished(theirs)).toEqual([]);
      await theirs.break("site", { reason: "it is needed now" });
      expect(await findUnfinished(theirs)).toMatchObject([{ kind: "publish_left", content: "none" }]);
      await theirs.break("path/out", { reason: "it is needed now" });
      await using _file = await theirs.acquire("path/out/version");
      expect(await findUnfinished(theirs)).toEqual([]);
      expect(await verifyManifests(theirs)).toMatchObject({ ok: true, targets: 1, unfinished: [] });
    });
    await expect(never).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    expect(versionIn(other)).toBe("2");
    expect(readdirSync(root)).not.toContain("out");
  });

  it("refuses the publish while another holder has a file in it", async () => {
    await using _file = await theirs.acquire("path/out/version");
    const refused = publish({ holdfast: ours, key: "site" }, target, version("1"));
    await expect(refused).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(await ours.list({ prefix: "site" })).toEqual([]);
  });

  // kills: publish-target-key
  it("is waited for with the key, in one request", async () => {
    const file = await theirs.acquire("path/out/version");
    const published = publish({ holdfast: ours, key: "site" }, target, version("1"), { wait: "10s" });
    await sleep(300);
    expect(await ours.list({ prefix: "site" })).toEqual([]);
    await file.release();
    await published;
    expect(versionIn(target)).toBe("1");
  });

  // kills: publish-target-beside
  it("is requested at once beside a lease in hand, and given back while the lease stays", async () => {
    await using lease = await ours.acquire("site");
    const file = await theirs.acquire("path/out/version");
    await expect(publish(lease, target, version("1"))).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await file.release();
    await publish(lease, target, async (stage) => {
      version("2")(stage);
      expect(await theirs.tryAcquire("path/out")).toBeNull();
    });
    expect((await theirs.list()).map(({ resource }) => resource)).toEqual(["site"]);
    expect(versionIn(target)).toBe("2");
  });

  it("needs no second grant where the token of a borrowed lease holds it already", async () => {
    await using lease = await ours.acquire(["site", "path/out"]);
    await publish(await theirs.borrow("site", lease.token), target, version("1"));
    expect(versionIn(target)).toBe("1");
    expect(lease.state).toBe("held");
  });

  // kills: publish-target-checked, publish-server-path
  it("is checked in the step that renames: a publish whose target was broken changes nothing, and its lease stays", async () => {
    await publish({ holdfast: ours, key: "site" }, target, version("1"));
    await using lease = await ours.acquire("site");
    const late = publish(lease, target, async (stage) => {
      version("2")(stage);
      await theirs.break("path/out", { reason: "the target is needed now" });
      await using _file = await theirs.acquire("path/out");
    });
    await expect(late).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD", details: { resource: "path/out" } });
    expect(versionIn(target)).toBe("1");
    expect(lease.state).toBe("held");
    expect(readdirSync(join(root, "tmp"))).toEqual([]);
  });
});
