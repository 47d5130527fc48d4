import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openHoldfast } from "../../../../src/index.js";
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
