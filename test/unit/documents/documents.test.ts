import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Documents, openDocuments } from "../../../src/features/documents/documents.js";
import { documentsAt, filesIn, newFolder } from "../../fixtures/documents/documents.fixture.js";

interface Counter {
  readonly n: number;
}

const increment = (value: Counter | null): Counter => ({ n: (value?.n ?? 0) + 1 });

describe("documents", () => {
  let dir: string;
  let documents: Documents;

  beforeEach(() => {
    dir = newFolder();
    documents = openDocuments(dir);
  });
  afterEach(async () => {
    await documents.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it("BOARD-7 are plain JSON files with a revision", async () => {
    await documents.update("a/counter", increment);
    expect(await documents.update("a/counter", increment)).toEqual({ id: "a/counter", revision: 2, value: { n: 2 } });
    expect(readFileSync(join(dir, "a", "counter.json"), "utf8")).toBe(
      '{\n  "schema_version": 1,\n  "revision": 2,\n  "n": 2\n}\n',
    );
    expect(await documents.get("a/counter")).toEqual({ id: "a/counter", revision: 2, value: { n: 2 } });
    expect(await documents.list()).toEqual(["a/counter"]);
  });

  it("BOARD-7 a value that is the same changes nothing", async () => {
    await documents.update("x", () => ({ n: 1 }));
    expect(await documents.update("x", () => ({ n: 1 }))).toMatchObject({ revision: 1 });
  });

  // kills: documents-own-names
  it("whose names differ in capitals are two, with files whose names differ in more", async () => {
    await documents.transact((tx) => {
      for (const id of ["Foo", "foo", "Con/x.", "con/x."]) tx.put(id, { id });
      tx.append("Events", {});
    });
    expect(await documents.list()).toEqual(["Con/x.", "Foo", "con/x.", "foo"]);
    expect(await documents.list("Con")).toEqual(["Con/x."]);
    for (const id of ["Foo", "foo"]) expect((await documents.get(id))?.value).toEqual({ id });
    expect(filesIn(dir).filter((path) => path.endsWith(".json"))).toEqual(
      expect.arrayContaining(["%43on/x%2e.json", "%46oo.json", "%63on/x%2e.json", "foo.json"]),
    );
    expect(await documents.lastSeq("events")).toBe(0);
    writeFileSync(join(dir, "Foreign.json"), "{}");
    expect(await documents.list()).toHaveLength(4);
  });

  it("with a name that would be longer than a file's may be are refused", async () => {
    const refused = expect.objectContaining({ code: "E_INVALID_ARGUMENT" });
    await expect(documents.get("A".repeat(67))).rejects.toEqual(refused);
    await documents.update("A".repeat(66), increment);
  });

  it("BOARD-2 reading creates no files", async () => {
    expect(await documents.get("nothing")).toBeNull();
    expect(await documents.list()).toEqual([]);
    expect(await documents.log("events")).toEqual([]);
    expect(filesIn(dir)).toEqual([]);
    await documents.update("x", increment);
    const before = filesIn(dir);
    const reader = openDocuments(dir);
    await reader.get("x");
    await reader.list();
    expect(filesIn(dir)).toEqual(before);
  });

  it("BOARD-2 several documents and a log change as one, or not at all", async () => {
    await documents.update("gone", increment);
    await documents.transact((tx) => {
      tx.put("one", { n: 1 });
      tx.put("two", { n: 2 });
      tx.remove("gone");
      expect(tx.append("events", { what: "both" })).toBe(1);
    });
    expect(await documents.list()).toEqual(["one", "two"]);
    const failed = documents.transact((tx) => {
      tx.put("one", { n: 9 });
      tx.append("events", { what: "never" });
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect(await documents.get("one")).toMatchObject({ value: { n: 1 } });
    expect(await documents.log("events")).toEqual([{ seq: 1, what: "both" }]);
  });

  it("BOARD-2 updates at once in one process are all kept, by whichever object", async () => {
    const other = openDocuments(dir);
    await Promise.all(Array.from({ length: 40 }, (_, at) => (at % 2 ? other : documents).update("n", increment)));
    expect(await documents.get<Counter>("n")).toMatchObject({ revision: 40, value: { n: 40 } });
    await other.close();
  });

  it("a step is synchronous, and its transaction ends with it", async () => {
    await expect(documents.transact(async () => 1)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    const kept = await documents.transact((tx) => ({ tx }));
    expect(() => kept.tx.get("x")).toThrow(/it is over/);
  });

  it("BOARD-3 a revision that has moved on is E_REVISION_CONFLICT", async () => {
    await documents.update("x", increment, { ifRevision: 0 });
    await documents.update("x", increment, { ifRevision: 1 });
    const late = documents.update("x", increment, { ifRevision: 1 });
    await expect(late).rejects.toMatchObject({ code: "E_REVISION_CONFLICT", details: { revision: 2, expected: 1 } });
  });

  it.each(["", "/a", "a/", "../a", ".hidden", "a/b/c/d/e", "a b", "ä"])("refuses %j as an id", async (id) => {
    await expect(documents.update(id, increment)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    await expect(documents.get(id)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });

  it.each([[[1]], [null], [{ revision: 1 }], [{ schema_version: 1 }]])("refuses %j as a value", async (value) => {
    const update = documents.transact((tx) => tx.put("x", value as never));
    await expect(update).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    expect(await documents.list()).toEqual([]);
  });

  it.each(["", "{", "[1]", '{"revision":1}', '{"schema_version":1}', "\0\0\0"])(
    "BOARD-8 a corrupt file (%j) is moved aside and reported, never overwritten",
    async (garbage) => {
      await documents.update("x", increment);
      const path = join(dir, "x.json");
      writeFileSync(path, garbage);
      await expect(documents.get("x")).rejects.toMatchObject({ code: "E_STORE_CORRUPT", details: { path } });
      expect(readFileSync(path, "utf8")).toBe(garbage);
      const refused = await documents.update("x", increment).catch((error) => error);
      expect(refused).toMatchObject({ code: "E_STORE_CORRUPT" });
      expect(readFileSync(refused.details.quarantined, "utf8")).toBe(garbage);
      expect(readdirSync(dir).filter((name) => name.startsWith("x.json"))).toHaveLength(1);
      expect(await documents.update("x", increment)).toMatchObject({ value: { n: 1 } });
    },
  );

  it("a byte order mark, as editors on Windows write it, is read over", async () => {
    await documents.update("x", increment);
    const path = join(dir, "x.json");
    writeFileSync(path, `\uFEFF${readFileSync(path, "utf8")}`);
    expect(await documents.get("x")).toMatchObject({ value: { n: 1 } });
    expect(await documents.update("x", increment)).toMatchObject({ value: { n: 2 } });
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ n: 2 });
  });

  it("BOARD-8 a document of a newer schema is left alone", async () => {
    mkdirSync(dir, { recursive: true });
    const text = '{"schema_version":2,"revision":1,"new":true}';
    writeFileSync(join(dir, "x.json"), text);
    await expect(documents.get("x")).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    await expect(documents.update("x", increment)).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    expect(readFileSync(join(dir, "x.json"), "utf8")).toBe(text);
  });

  // kills: documents-unknown-boot
  it("where the boot is unknown, each process takes what the journal has for the last word", async () => {
    const first = documentsAt(dir, "");
    await first.update("x", increment);
    const old = readFileSync(join(dir, "x.json"), "utf8");
    await first.update("x", increment);
    await first.close();
    writeFileSync(join(dir, "x.json"), old); // As a power cut leaves it.
    vi.resetModules();
    const fresh = await import("../../fixtures/documents/documents.fixture.js");
    const later = fresh.documentsAt(dir, "");
    expect(await later.get("x")).toMatchObject({ revision: 2 });
    await later.close();
  });

  // kills: documents-foreign
  it("what an editor or git writes is kept, also over a restart", async () => {
    await documents.update("x", increment);
    await documents.update("x", increment);
    const text = '{"schema_version":1,"revision":7,"n":70}';
    writeFileSync(join(dir, "x.json"), text);
    const later = documentsAt(dir, "another boot");
    expect(await later.get("x")).toMatchObject({ revision: 7 });
    await later.update("y", increment);
    expect(readFileSync(join(dir, "x.json"), "utf8")).toBe(text);
    expect(await later.update("x", increment)).toMatchObject({ revision: 8, value: { n: 71 } });
    await later.close();
  });

  // kills: documents-fresh-file
  it("BOARD-2 what a dead process left aside is not written over: not for who has it open, nor where a backup is", async () => {
    await documents.update("x", increment);
    const backup = join(dir, "backup");
    linkSync(join(dir, "x.json"), backup);
    const old = readFileSync(backup, "utf8");
    linkSync(backup, join(dir, ".journal", "document.new"));
    await documents.update("x", increment);
    expect(readFileSync(backup, "utf8")).toBe(old);
    expect(await documents.get("x")).toMatchObject({ revision: 2 });
  });

  it("a log in a folder makes its folder", async () => {
    await documents.transact((tx) => tx.append("of/today/events", { a: 1 }));
    await documents.transact((tx) => tx.append("of/today/events", { a: 2 }));
    expect(await documents.log("of/today/events")).toEqual([
      { seq: 1, a: 1 },
      { seq: 2, a: 2 },
    ]);
  });

  it("nothing that cannot be written gets into the journal, where it would stand in the way of all others", async () => {
    const refused = { code: "E_INVALID_ARGUMENT" };
    const clash = documents.transact((tx) => {
      tx.put("x", { n: 1 });
      tx.put("x.json/y", { n: 1 });
    });
    await expect(clash).rejects.toMatchObject(refused);
    await expect(documents.transact((tx) => tx.append("x.jsonl/y", {}))).rejects.toMatchObject(refused);
    await expect(documents.transact((tx) => tx.append("events", { seq: 7 }))).rejects.toMatchObject(refused);
    await expect(documents.transact((tx) => tx.append("events", [1]))).rejects.toMatchObject(refused);
    mkdirSync(join(dir, "folder.jsonl"));
    await expect(documents.transact((tx) => tx.append("folder", {}))).rejects.toMatchObject({ code: "E_IO" });
    expect(await documents.update("x", increment)).toMatchObject({ revision: 1 });
    expect(await documents.list()).toEqual(["x"]);
  });

  it("a log goes on behind lines others have added", async () => {
    await documents.transact((tx) => tx.append("events", { a: 1 }));
    writeFileSync(join(dir, "events.jsonl"), '{"seq":5,"merged":true}\nno json', { flag: "a" });
    await documents.transact((tx) => tx.append("events", { a: 2 }));
    expect((await documents.log("events")).map(({ seq }) => seq)).toEqual([1, 5, 6]);
  });

  it("BOARD-7 watch tells of every state it can see, the present one first", async () => {
    await documents.update("x", increment);
    const stop = new AbortController();
    const seen: number[] = [];
    const watching = (async () => {
      for await (const document of documents.watch<Counter>("x", { signal: stop.signal })) {
        seen.push(document?.value.n ?? 0);
        if (document?.value.n === 3) stop.abort();
      }
    })();
    const other = openDocuments(dir);
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await other.update("x", increment);
    await other.update("x", increment);
    await watching;
    expect(seen[0]).toBe(1);
    expect(seen.at(-1)).toBe(3);
    await other.close();
  });

  // kills: watch-by-revision
  it("BOARD-7 watch tells of a document that was made anew, and of one that others wrote, though the revision is the same", async () => {
    await documents.update("x", () => ({ n: 1 }));
    const seen: number[] = [];
    for await (const document of documents.watch<Counter>("x")) {
      const n = document?.value.n ?? 0;
      if (seen.push(n) === 3) break;
      expect(document?.revision).toBe(1);
      if (n === 1)
        await documents.transact((tx) => {
          tx.remove("x");
          tx.put("x", { n: 2 });
        });
      if (n === 2) writeFileSync(join(dir, "x.json"), '{ "schema_version": 1, "revision": 1, "n": 3 }');
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  it("a folder whose journal is deleted begins a new one", async () => {
    await documents.update("x", increment);
    rmSync(join(dir, ".journal"), { recursive: true });
    expect(await documents.update("x", increment)).toMatchObject({ revision: 2 });
    expect(await documents.update("x", increment)).toMatchObject({ revision: 3 });
  });

  // kills: documents-lost-folder
  it("BOARD-2 a folder that a power cut took, with all it had held removed before, is no hindrance", async () => {
    await documents.update("sub/er/x", increment);
    await documents.update("sub/er/x", () => null);
    await documents.update("y", increment);
    rmSync(join(dir, "sub"), { recursive: true });
    const later = documentsAt(dir, "after the cut");
    expect(await later.update("y", increment)).toMatchObject({ revision: 2 });
    expect(await later.list()).toEqual(["y"]);
    await later.close();
  });

  // kills: documents-journal-once
  it("after a restart a reader reads the journal once, not for each document, and until somebody settles it", async () => {
    await documents.update("x", increment);
    const old = readFileSync(join(dir, "x.json"), "utf8");
    await documents.update("x", increment);
    const reader = documentsAt(dir, "after the cut");
    writeFileSync(join(dir, "x.json"), old);
    expect(await reader.get("x")).toMatchObject({ revision: 2 });
    const journal = join(dir, ".journal", "journal");
    const bytes = readFileSync(journal);
    writeFileSync(journal, Buffer.from(bytes).fill(0, 4096));
    expect(await reader.get("x")).toMatchObject({ revision: 2 });
    writeFileSync(journal, bytes);
    const writer = documentsAt(dir, "after the cut");
    await writer.update("x", increment);
    expect(await reader.get("x")).toMatchObject({ revision: 3 });
    writeFileSync(join(dir, "x.json"), old);
    expect(await reader.get("x"), "what git puts back counts again").toMatchObject({ revision: 1 });
    await writer.close();
  });

  it("a change larger than the journal goes through it all the same", async () => {
    const words = "x".repeat(3_000_000);
    await documents.update("large", () => ({ words }));
    await documents.update("x", increment);
    const later = documentsAt(dir, "another boot");
    expect(await later.get<{ words: string }>("large")).toMatchObject({ value: { words } });
    await later.update("x", increment);
    expect(await later.get("x")).toMatchObject({ value: { n: 2 } });
    await later.close();
  });
});
