import { copyFileSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHoldfast } from "../../../../src/index.js";
import { listManifests, manifestFiles, publish } from "../../../../src/publish.js";
import { examineStore } from "../../../../src/store/open.js";

let dir: string;
const open = () => openHoldfast({ store: `file:${dir}`, owner: "agent:a", heart: "loop" });
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-damage-"));
  const holdfast = await open();
  await (await holdfast.acquire("old")).release();
  await holdfast.close();
});
afterEach(() => rmSync(dir, { recursive: true }));

it.each([
  "{}",
  "[]",
  "5",
  '{"schema_version":1}',
  '{"schema_version":1,"settings":null,"machine":null}',
  '{"schema_version":1,"settings":{"levels":["a"],"profiles":{"a:":"?"}},"machine":{"machine_id":"m","boot_id":"b"}}',
])("STORE-2: a store.json of %s is told for what it is", async (text) => {
  writeFileSync(join(dir, "store.json"), text);
  await expect(open()).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
  await expect(examineStore(`file:${dir}`)).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
});

it("STORE-2: a floor that is no number spoils no tree", async () => {
  writeFileSync(join(dir, "floor.json"), '{"boot_id":"?"}');
  const holdfast = await open();
  await expect(holdfast.acquire("new")).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
  rmSync(join(dir, "floor.json"));
  await (await holdfast.acquire("new")).release();
  await holdfast.close();
});

describe("a key whose record is damaged", () => {
  const at = (file: string) => join(dir, "locks", file);
  const asTwo = () => openHoldfast({ store: `file:${dir}`, owner: "agent:two", heart: "loop" });
  let holder: Awaited<ReturnType<typeof open>>;
  beforeEach(async () => {
    holder = await open();
    for (const key of ["held", "deep/a", "deep/b"]) await holder.acquire(key, { detached: true });
  });
  afterEach(() => holder.close());

  // kills: node-of-another (another key), tree-of-another (another tree), block-object (null), link-to-nothing (link)
  it.each<[string, string, () => void]>([
    ["by the file of another key", "deep/a", () => copyFileSync(at("deep/below/b.json"), at("deep/below/a.json"))],
    ["by the record of another tree", "held", () => copyFileSync(at("old/tree.json"), at("held/tree.json"))],
    ["by a file of another kind", "deep/a", () => copyFileSync(at("old/tree.json"), at("deep/below/a.json"))],
    ["by null", "held", () => writeFileSync(at("held/tree.json"), "null")],
    ["by a link to nothing", "deep/a", () => replaceByLink(at("deep/below/a.json"))],
  ])("is granted to no other owner (%s)", async (_, key, damage) => {
    damage();
    const other = await asTwo();
    await expect(other.acquire(key, { wait: 0 })).rejects.toMatchObject({
      code: expect.stringMatching(/^E_(STORE_CORRUPT|LOCK_CONFLICT)$/),
    });
    await other.close();
  });
});

// kills: manifest-shape (record), manifest-file-shape (file)
it.each(["record", "file"])("a manifest whose %s makes no sense is refused by name", async (what) => {
  const holdfast = await open();
  const target = join(dir, "target");
  const key = await holdfast.acquire("site");
  await publish(key, target, (stage) => stage.write("page", "new"));
  const [manifest] = await listManifests(holdfast);
  if (manifest === undefined) throw new Error("nothing was published");
  const folder = join(dir, "manifests");
  const name = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((each) =>
    each.endsWith(what === "record" ? `${manifest.id}.json` : ".files.jsonl"),
  );
  const path = join(folder, name ?? "");
  writeFileSync(path, `${JSON.stringify({ id: manifest.id, path: 7 })}\n`);
  const read = what === "record" ? listManifests(holdfast) : manifestFiles(holdfast, manifest).next();
  await expect(read).rejects.toMatchObject({ code: "E_STORE_CORRUPT", message: expect.stringContaining(path) });
  await holdfast.close();
});

function replaceByLink(path: string): void {
  rmSync(path);
  symlinkSync("/nowhere/at/all", path);
}
