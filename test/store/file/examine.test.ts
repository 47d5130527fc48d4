import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { examineFileStore } from "../../../src/store/file/examine.js";

/** What a reader gets to see of tree.json before it sees what is there. */
const caught = vi.hoisted((): string[] => []);

vi.mock("node:fs", async (original) => {
  const actual = await original<typeof import("node:fs")>();
  const readFileSync = ((path, options) =>
    (String(path).endsWith("tree.json") ? caught.shift() : undefined) ??
    actual.readFileSync(path, options)) as typeof actual.readFileSync;
  return { ...actual, readFileSync };
});

it("a record caught half-written, while its tree is in use, is no damage", async () => {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-examine-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const holdfast = await openHoldfast({ store: `file:${dir}`, owner: "agent:a", heart: "loop" });
  await (await holdfast.acquire("t")).release();
  await holdfast.close();
  const store = examineFileStore(dir);
  caught.push('{"schema_version":1,"tree":"t","fen', '{"schema_version":1,"tree":"t","fence":179');
  expect(store?.integrity()).toEqual([]);
  expect(caught).toEqual([]);
});
