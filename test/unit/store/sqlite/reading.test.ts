/** A database that is only read: nothing is written beside it, and what is read is of one moment. */
import { copyFileSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sleep } from "../../../../src/base/sleep.js";
import { openForReading } from "../../../../src/client/open-holdfast.js";
import { storeAlone } from "../../../../src/client/workspace/find-workspace.js";
import { type Holdfast, openHoldfast } from "../../../../src/index.js";

const DETACHED = { detached: true, ttl: "1h" } as const;
/** A file that has just changed counts as changing. */
const SETTLED_MS = 40;

function newPlace(name = "holdfast.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-reading-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

async function hold(place: string, key: string): Promise<Holdfast> {
  const holdfast = await openHoldfast({ store: `sqlite:${place}`, owner: "agent:one", heart: "loop" });
  onTestFinished(() => holdfast.close());
  await holdfast.acquire(key, DETACHED);
  return holdfast;
}

async function read(place: string): Promise<Holdfast> {
  const holdfast = await openForReading(storeAlone(`sqlite:${place}`, "agent:reader"));
  if (holdfast === null) throw new Error("there is no store");
  onTestFinished(() => holdfast.close());
  return holdfast;
}

async function keysIn(holdfast: Holdfast): Promise<string[]> {
  return (await holdfast.list()).map(({ resource }) => resource);
}

describe("a database that is only read", () => {
  it.each(["holdfast.db", "100%20 #1?.db"])("shows what is held, and nothing is written: %s", async (name) => {
    const place = newPlace(name);
    await (await hold(place, "k")).close();
    const folder = join(place, "..");
    const { mtimeNs, ctimeNs } = statSync(place, { bigint: true });
    const names = readdirSync(folder);
    const reader = await read(place);
    expect(await keysIn(reader)).toEqual(["k"]);
    expect((await reader.audit.verify()).ok).toBe(true);
    await reader.close();
    expect(readdirSync(folder)).toEqual(names);
    expect(statSync(place, { bigint: true })).toMatchObject({ mtimeNs, ctimeNs });
  });

  // kills: sqlite-read-alone
  it("shows what others write after it was opened", async () => {
    const place = newPlace();
    await (await hold(place, "k/a")).close();
    await sleep(SETTLED_MS);
    const reader = await read(place);
    expect(await keysIn(reader)).toEqual(["k/a"]);
    await (await hold(place, "k/b")).close();
    expect(await keysIn(reader)).toEqual(["k/a", "k/b"]);
    const writer = await hold(place, "k/c");
    expect(await keysIn(reader)).toEqual(["k/a", "k/b", "k/c"]);
    await writer.acquire("k/d", DETACHED);
    expect(await keysIn(reader)).toEqual(["k/a", "k/b", "k/c", "k/d"]);
  });

  // kills: sqlite-read-gone-alone
  it("is not taken for another one that has its place", async () => {
    const [place, other] = [newPlace(), newPlace()];
    await (await hold(place, "k")).close();
    await (await hold(other, "other")).close();
    const reader = await read(place);
    expect(await keysIn(reader)).toEqual(["k"]);
    rmSync(place);
    copyFileSync(other, place);
    await sleep(100);
    await expect(keysIn(reader)).rejects.toMatchObject({
      code: "E_STORE_CORRUPT",
      details: { lost: "replaced" },
    });
  });

  it("refuses every step", async () => {
    const place = newPlace();
    await (await hold(place, "k")).close();
    const reader = await read(place);
    const refused = { code: "E_STORE_UNAVAILABLE", details: { reason: "read_only" } };
    await expect(reader.acquire("other", { ...DETACHED, wait: 0 })).rejects.toMatchObject(refused);
    await expect(reader.break("k", { reason: "x" })).rejects.toMatchObject(refused);
  });

  it("is not made", async () => {
    const place = newPlace();
    expect(await openForReading(storeAlone(`sqlite:${place}`, "agent:reader"))).toBeNull();
    expect(readdirSync(join(place, ".."))).toEqual([]);
  });
});
