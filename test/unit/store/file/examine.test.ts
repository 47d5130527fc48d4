import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openHoldfast } from "../../../../src/index.js";
import { examineFileStore } from "../../../../src/store/file/examine.js";

/** What a reader gets to see of tree.json before it sees what is there. */
const caught = vi.hoisted((): string[] => []);

vi.mock("node:fs", async (original) => {
  const actual = await original<typeof import("node:fs")>();
  let tree = -1;
  const openSync: typeof actual.openSync = (path, ...how) => {
    const fd = actual.openSync(path, ...how);
    if (String(path).endsWith("tree.json")) tree = fd;
    else if (fd === tree) tree = -1;
    return fd;
  };
  const readSync = ((fd: number, buffer: Buffer, offset: number, length: number, position: number) => {
    const text = fd === tree ? caught.shift() : undefined;
    return text === undefined ? actual.readSync(fd, buffer, offset, length, position) : buffer.write(text, offset);
  }) as typeof actual.readSync;
  return { ...actual, openSync, readSync };
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

// kills: read-block-twice
it("STORE-2: a mixture of two records, though it is JSON, is not taken for one", async () => {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-examine-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const holdfast = await openHoldfast({ store: `file:${dir}`, owner: "agent:a", heart: "loop" });
  const lease = await holdfast.acquire("t/below");
  const text = readFileSync(join(dir, "locks/t/tree.json"), "utf8");
  caught.push(text.replace("t/below", "t/other"));
  expect((await holdfast.inspect("t/below")).state).toBe("held");
  expect(caught).toEqual([]);
  await lease.release();
  await holdfast.close();
});
