/** What a publish does and refuses, on each store. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import {
  listManifests,
  type ManifestFile,
  type ManifestRecord,
  manifestFiles,
  type PublishProgress,
  publish,
  verifyManifests,
} from "../../../src/publish.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { debrisAt, treeOf, versionAt } from "../../fixtures/publish/publish.fixture.js";

async function filesOf(holdfast: Holdfast, manifest: ManifestRecord): Promise<ManifestFile[]> {
  const files: ManifestFile[] = [];
  for await (const file of manifestFiles(holdfast, manifest)) files.push(file);
  return files;
}

describe.each(["memory", "file", "sqlite", "postgres"])("publish on the %s store", (kind) => {
  let dir: string;
  let target: string;
  let ours: Holdfast;
  let theirs: Holdfast;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "holdfast-publish-"));
    mkdirSync(join(dir, "place"));
    target = join(dir, "place", "out");
    const store =
      { memory: `memory:${dir}`, file: `file:${dir}/store`, sqlite: `sqlite:${dir}/holdfast.db` }[kind] ??
      (await newPostgresStore(await sharedServer()));
    ours = await openHoldfast({ store, owner: "agent:ours", heart: "loop", wait: 0 });
    theirs = await openHoldfast({ store, owner: "user:theirs", heart: "loop", wait: 0 });
  });

  afterEach(async () => {
    await ours.close();
    await theirs.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it("PUB-1 PUB-2: makes a target, then replaces it, each on record with every file", async () => {
    const lease = await ours.acquire("site");
    expect(await publish(lease, target, treeOf("one"))).toMatchObject({ replaced: false });
    const { manifest, replaced } = await publish(lease, target, treeOf("two"));
    expect(replaced).toBe(true);
    expect(versionAt(target)).toBe("two");
    expect(manifest).toMatchObject({
      op: "publish",
      target,
      tmp_path: join(dir, "place", "tmp", manifest.id),
      owner: "agent:ours",
      resource: "site",
      fencing_token: lease.fencingToken,
      state: "committed",
      file_count: 3,
      bytes: 3 + "page of two".length + 3,
    });
    expect(manifest.committed_at).not.toBeNull();
    const files = await filesOf(ours, manifest);
    expect(files.map(({ path, size }) => `${path} ${size}`).sort()).toEqual([
      "by-hand 3",
      "sub/deep/page 11",
      "version 3",
    ]);
    for (const file of files)
      expect(file).toMatchObject({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/), mode: 0o100644 });
    expect((await listManifests(ours)).map(({ state }) => state)).toEqual(["committed", "committed"]);
    expect(debrisAt(target)).toEqual([]);
    expect(lease.state).toBe("held");
  });

  it("PUB-1: the lock is taken and released when a key is given instead of a lease", async () => {
    await publish({ holdfast: ours, key: "site" }, target, async (stage) => {
      await expect(theirs.acquire("site")).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
      await treeOf("one")(stage);
    });
    await (await theirs.acquire("site")).release();
    await expect(
      publish({ holdfast: ours, key: "site" }, target, () => Promise.reject(new Error("mine"))),
    ).rejects.toThrow("mine");
    await (await theirs.acquire("site")).release();
    expect(versionAt(target)).toBe("one");
    expect((await listManifests(ours)).map(({ state, cleared }) => [state, cleared])).toEqual([
      ["committed", true],
      ["aborted", true],
    ]);
    expect(debrisAt(target)).toEqual([]);
  });

  // kills: publish-key
  it("PUB-1: the first publish records its key; another one is refused, unless it is above", async () => {
    await publish({ holdfast: ours, key: "site/pages" }, target, treeOf("one"));
    for (const key of ["other", "site/other", "site/pages/below"])
      await expect(publish({ holdfast: theirs, key }, target, treeOf("two"))).rejects.toMatchObject({
        code: "E_CONFIG",
        details: { recorded: "site/pages" },
      });
    expect(versionAt(target)).toBe("one");
    await publish({ holdfast: theirs, key: "site" }, target, treeOf("three"));
    expect(versionAt(target)).toBe("three");
    await expect(publish({ holdfast: ours, key: "other" }, target, treeOf("two"))).rejects.toMatchObject({
      code: "E_CONFIG",
    });
    await publish({ holdfast: ours, key: "site/pages" }, target, treeOf("four"));
  });

  it("PUB-1: a first publish that came to nothing records no key", async () => {
    await (await ours.acquire("right")).release(); // Its tokens are lower than those of a tree that is used later.
    await expect(
      publish({ holdfast: ours, key: "wrong" }, target, () => Promise.reject(new Error("no"))),
    ).rejects.toThrow("no");
    await publish({ holdfast: ours, key: "right" }, target, treeOf("one"));
    expect(versionAt(target)).toBe("one");
  });

  // kills: publish-known-manifests
  it("PUB-1: the key that another client recorded since the last look counts", async () => {
    await expect(
      publish({ holdfast: ours, key: "wrong" }, target, () => Promise.reject(new Error("no"))),
    ).rejects.toThrow("no");
    await publish({ holdfast: theirs, key: "right" }, target, treeOf("theirs"));
    await expect(publish({ holdfast: ours, key: "wrong" }, target, treeOf("ours"))).rejects.toMatchObject({
      code: "E_CONFIG",
      details: { recorded: "right" },
    });
    expect(versionAt(target)).toBe("theirs");
  });

  it.each([
    ["a file", () => writeFileSync(target, "mine")],
    ["a link to a folder", () => symlinkSync(dir, target)],
    ["a link to nothing", () => symlinkSync(join(dir, "nothing"), target)],
  ])("PUB-1: a target that is %s is refused before anything is written", async (_, make) => {
    make();
    const filled = { yes: false };
    await expect(
      publish({ holdfast: ours, key: "site" }, target, () => {
        filled.yes = true;
      }),
    ).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "target" } });
    expect(filled.yes).toBe(false);
    expect(debrisAt(target)).toEqual([]);
    expect(await listManifests(ours)).toEqual([]);
  });

  it("PUB-1: a target that became a file meanwhile is not replaced", async () => {
    const work = publish({ holdfast: ours, key: "site" }, target, async (stage) => {
      await treeOf("one")(stage);
      writeFileSync(target, "mine");
    });
    await expect(work).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(readFileSync(target, "utf8")).toBe("mine");
    expect(debrisAt(target)).toEqual([]);
  });

  // kills: publish-no-replace
  it("PUB-1: an empty folder in the target's place is exchanged, not silently replaced", async () => {
    mkdirSync(target);
    expect(await publish({ holdfast: ours, key: "site" }, target, treeOf("one"))).toMatchObject({ replaced: true });
    expect(versionAt(target)).toBe("one");
  });

  it("PUB-1: what is neither file nor folder nor link is refused, and so are names outside the stage", async () => {
    const { execFileSync } = await import("node:child_process");
    await expect(
      publish(
        { holdfast: ours, key: "site" },
        target,
        (stage) => void execFileSync("mkfifo", [join(stage.path, "pipe")]),
      ),
    ).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    for (const name of ["", "..", "a/../../b", "/etc/passwd", ".", "a/"])
      await expect(
        publish({ holdfast: ours, key: "site" }, target, (stage) => stage.write(name, "x")),
      ).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(existsSync(target)).toBe(false);
    expect(debrisAt(target)).toEqual([]);
  });

  // kills: stage-link-parent, stage-link-last
  it("a file whose name leads out of the stage by a link is refused, and nothing outside changes", async () => {
    const outside = join(dir, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "kept"), "kept");
    const write = (name: string) =>
      publish({ holdfast: ours, key: "site" }, target, async (stage) => {
        await stage.write("sub/file", "first");
        symlinkSync(outside, join(stage.path, "folder"));
        symlinkSync(join(outside, "kept"), join(stage.path, "file"));
        symlinkSync(join(outside, "none"), join(stage.path, "dangling"));
        rmSync(join(stage.path, "sub"), { recursive: true });
        symlinkSync(outside, join(stage.path, "sub"));
        await stage.write(name, "x");
      });
    for (const name of ["folder/x", "folder/kept", "folder/new/x", "file", "dangling", "dangling/x", "sub/x"])
      await expect(write(name), name).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "name" } });
    expect(readdirSync(outside)).toEqual(["kept"]);
    expect(readFileSync(join(outside, "kept"), "utf8")).toBe("kept");
    expect(debrisAt(target)).toEqual([]);
  });

  it("a file is written through a link that stays in the stage", async () => {
    await publish({ holdfast: ours, key: "site" }, target, async (stage) => {
      await stage.write("real/one", "1");
      symlinkSync("real", join(stage.path, "alias"));
      await stage.write("alias/two", "2");
      await stage.write("real/one", "1 again");
    });
    expect(readFileSync(join(target, "real/two"), "utf8")).toBe("2");
    expect(readFileSync(join(target, "real/one"), "utf8")).toBe("1 again");
    expect(await verifyManifests(ours)).toMatchObject({ ok: true });
  });

  it("FENCE-2 PUB-1: a reader publishes nothing", async () => {
    const lease = await ours.acquire("site", { mode: "read" });
    await expect(publish(lease, target, treeOf("one"))).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    expect(existsSync(target)).toBe(false);
    expect(debrisAt(target)).toEqual([]);
  });

  it("PUB-1: streams are written piece by piece, with progress; modes, links and empty folders arrive", async () => {
    const seen: PublishProgress[] = [];
    const piece = Buffer.alloc(100_000, 7);
    const pieces = function* () {
      for (let at = 0; at < 10; at += 1) yield piece;
    };
    const { manifest } = await publish(
      { holdfast: ours, key: "site" },
      target,
      async (stage) => {
        await stage.write("big", Readable.from(pieces()));
        await stage.write("run.sh", "#!/bin/sh\n", { mode: 0o755 });
        await stage.write("run.sh", "#!/bin/sh\ntrue\n", { mode: 0o755 });
        symlinkSync("big", join(stage.path, "link"));
        mkdirSync(join(stage.path, "empty"));
      },
      { onProgress: (progress) => seen.push(progress) },
    );
    expect(manifest).toMatchObject({ file_count: 3, bytes: 1_000_000 + 15 + 3 });
    expect(readFileSync(join(target, "link")).equals(Buffer.alloc(1_000_000, 7))).toBe(true);
    expect(readdirSync(target).sort()).toEqual(["big", "empty", "link", "run.sh"]);
    const modes = Object.fromEntries((await filesOf(ours, manifest)).map(({ path, mode }) => [path, mode]));
    expect(modes).toMatchObject({ "run.sh": 0o100755, link: 0o120777 });
    expect([...new Set(seen.map(({ phase }) => phase))]).toEqual(["staging", "sealing", "committing"]);
    expect(seen.at(-1)).toMatchObject({ files: 3, bytes: 1_000_018 });
    expect(await verifyManifests(ours)).toEqual({ ok: true, targets: 1, files: 3, bad: [], unfinished: [] });
  });

  // kills: publish-own-bytes
  it("PUB-2: bytes that their owner changes as soon as they are handed over are on record as they were written", async () => {
    await publish({ holdfast: ours, key: "site" }, target, async (stage) => {
      const bytes = Buffer.alloc(1_000);
      const writing = Array.from({ length: 40 }, (_, at) => stage.write(`file-${at}`, bytes.fill(at + 1)));
      bytes.fill(0);
      await Promise.all(writing);
    });
    expect(readFileSync(join(target, "file-39")).equals(Buffer.alloc(1_000, 40))).toBe(true);
    expect(await verifyManifests(ours)).toEqual({ ok: true, targets: 1, files: 40, bad: [], unfinished: [] });
  });

  it("PUB-4: verify finds what was changed, taken away or added by other hands", async () => {
    await publish({ holdfast: ours, key: "site" }, target, treeOf("one"));
    expect(await verifyManifests(ours, { target })).toMatchObject({ ok: true, files: 3 });
    writeFileSync(join(target, "version"), "two");
    rmSync(join(target, "sub/deep/page"));
    chmodSync(join(target, "by-hand"), 0o600);
    writeFileSync(join(target, "sub/new"), "");
    const { ok, bad } = await verifyManifests(ours);
    expect(ok).toBe(false);
    expect(bad.map(({ path, why }) => `${path} ${why}`).sort()).toEqual([
      "by-hand has another mode",
      "sub/deep/page missing",
      "sub/new not in the manifest",
      "version has another content",
    ]);
  });

  it("PUB-1: a file that was changed after `write` is read again", async () => {
    await publish({ holdfast: ours, key: "site" }, target, async (stage) => {
      await stage.write("a", "first");
      await stage.write("b", "other");
      writeFileSync(join(stage.path, "a"), "second");
    });
    expect(await verifyManifests(ours)).toMatchObject({ ok: true, files: 2 });
  });

  // kills: publish-live-writer
  it("PUB-1: two publishers under one lease follow each other, and both are on record", async () => {
    const lease = await ours.acquire("site");
    await Promise.all(["one", "two", "three"].map((version) => publish(lease, target, treeOf(version))));
    expect(["one", "two", "three"]).toContain(versionAt(target));
    expect(await verifyManifests(ours)).toMatchObject({ ok: true, files: 3 });
    expect((await listManifests(ours)).map(({ state }) => state)).toEqual(["committed", "committed", "committed"]);
    expect(debrisAt(target)).toEqual([]);
  });

  it("PUB-2: old manifests of a target are forgotten after a while, and the audit has them all", async () => {
    for (let at = 0; at < 8; at += 1) await publish({ holdfast: ours, key: "site" }, target, treeOf(`v${at}`));
    expect((await listManifests(ours)).length).toBeLessThan(7);
    expect((await ours.audit.list({ event: "published" })).length).toBe(8);
    await expect(publish({ holdfast: ours, key: "other" }, target, treeOf("x"))).rejects.toMatchObject({
      code: "E_CONFIG",
    });
  });
});
