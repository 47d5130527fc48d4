/**
 * A publish under a key of its own that is killed between its exchange and its record: what stands at the target is named
 * as what it is, and a lock on the target's files settles it as one on the key does. With SIGKILL.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { findUnfinished, listManifests, publish, settleUnfinished, verifyManifests } from "../../../src/publish.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { named } from "../../fixtures/publish/crash-sweep.fixture.js";
import { debrisAt } from "../../fixtures/publish/publish.fixture.js";
import { outlive } from "../../fixtures/publish/server-statements.fixture.js";

const CHILD = fileURLToPath(new URL("./cut-publisher.fixture.mjs", import.meta.url));
const A_DAY_MS = 24 * 3_600_000;
const KINDS = ["file", "sqlite", "postgres"] as const;
type Kind = (typeof KINDS)[number];

interface Ward {
  readonly root: string;
  readonly target: string;
  readonly store: string;
}

let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "holdfast-unfinished-"));
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

async function wardFor(kind: Kind): Promise<Ward> {
  const root = mkdtempSync(join(base, `${kind}-`));
  mkdirSync(join(root, ".holdfast"));
  const store =
    kind === "postgres" ? await newPostgresStore(await sharedServer()) : `${kind}:${join(root, ".holdfast", "store")}`;
  writeFileSync(join(root, "holdfast.config.json"), JSON.stringify({ store }));
  return { root, target: join(root, "out"), store };
}

/** Kills a publisher there; returns the operations of one that was not killed before its end. */
function cut({ root }: Ward, at: number, when: "before" | "after"): Promise<string[]> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [CHILD, root, String(at), when], (error, stdout, stderr) => {
      if (error?.signal !== "SIGKILL") reject(new Error(`it was not killed: ${stderr}`, { cause: error }));
      else resolve(stdout === "" ? [] : JSON.parse(stdout));
    });
  });
}

/** A server accepts no report of a death: there the leases run out. */
async function mourn(kind: Kind, { store }: Ward): Promise<void> {
  if (kind === "postgres") await outlive(store, A_DAY_MS);
}

/** Killed at so many operations; each costs a process or two. */
const POINTS = 7;

/** From the exchange to the end, evenly. */
async function pointsOf(kind: Kind): Promise<readonly number[]> {
  const seen = await cut(await wardFor(kind), 0, "before");
  const exchange = seen.findIndex((what) => what.startsWith("swapSync")) + 1;
  expect(exchange).toBeGreaterThan(0);
  const points = Array.from({ length: seen.length - exchange + 1 }, (_, index) => exchange + index);
  const every = Math.ceil(points.length / POINTS);
  return points.filter((_, index) => index % every === 0);
}

async function within<T>({ root }: Ward, work: (holdfast: Holdfast) => Promise<T>): Promise<T> {
  await using holdfast = await openHoldfast({ root, owner: "user:next", heart: "loop", wait: 0 });
  return await work(holdfast);
}

/** The profile of `project:…` lets a dead holder keep it for a while. */
async function breakLeft(holdfast: Holdfast): Promise<void> {
  for (const { resource } of await holdfast.list({ prefix: "project:p" }))
    await holdfast.break(resource, { reason: "its publish was killed" });
}

const versionAt = ({ target }: Ward): string => readFileSync(join(target, "version"), "utf8");

describe.each(KINDS)("a publish that was killed after its exchange, on the %s store", (kind) => {
  // kills: publish-either-key (file), publish-either-key-sql (postgres), file-another-tree (file), file-publishes-over (file)
  it("is verified as its new content, and settled by a lock on a file of the target", async () => {
    for (const at of await pointsOf(kind))
      await named(`after ${at}`, async () => {
        const ward = await wardFor(kind);
        await cut(ward, at, "after");
        expect(versionAt(ward)).toBe("new");
        await within(ward, async (holdfast) => {
          const pending = await listManifests(holdfast, { state: "pending" });
          const { ok, bad, unfinished } = await verifyManifests(holdfast);
          expect({ ok, bad }).toEqual({ ok: true, bad: [] });
          const isCut = pending.map(({ id: manifest }) => ({ manifest, owner: "agent:doomed", content: "new" }));
          expect(unfinished).toMatchObject(isCut);
          await mourn(kind, ward);
          await using _file = await holdfast.acquire("path/out/version");
          expect(await listManifests(holdfast, { state: "pending" })).toEqual([]);
          expect(await verifyManifests(holdfast)).toMatchObject({ ok: true, targets: 1, unfinished: [] });
          expect(versionAt(ward)).toBe("new");
          expect(await holdfast.audit.verify()).toMatchObject({ ok: true });
        });
        // The old tree of one that was on record is removed by the next publish.
        await within(ward, async (holdfast) => {
          await breakLeft(holdfast);
          await publish({ holdfast, key: "project:p" }, ward.target, (stage) => stage.write("version", "next"));
        });
        expect(debrisAt(ward.target).filter((name) => !/^(\.holdfast|holdfast\.config)/.test(name))).toEqual([]);
      });
  });

  // kills: publish-standing (sqlite), publish-left-gone (sqlite), publish-gone-writer (sqlite), publish-gone-writer-sql (postgres)
  it("is found and settled without any lock, once its holder is gone", async () => {
    const [at = 0] = await pointsOf(kind);
    const ward = await wardFor(kind);
    await cut(ward, at, "after");
    await within(ward, async (holdfast) => {
      if (kind === "postgres") {
        expect(await findUnfinished(holdfast)).toMatchObject([{ kind: "publish_open", content: "new" }]);
        expect(await settleUnfinished(holdfast)).toEqual([]);
      }
      await mourn(kind, ward);
      expect(await findUnfinished(holdfast)).toMatchObject([{ kind: "publish_left", content: "new" }]);
      expect(await settleUnfinished(holdfast)).toMatchObject([{ state: "committed", cleared: true }]);
      expect(await findUnfinished(holdfast)).toEqual([]);
      expect(await verifyManifests(holdfast)).toMatchObject({ ok: true, files: 1, unfinished: [] });
      await breakLeft(holdfast);
      await publish({ holdfast, key: "project:p" }, ward.target, (stage) => stage.write("version", "next"));
    });
    expect(versionAt(ward)).toBe("next");
  });

  it("is damaged where its new content is changed afterwards", async () => {
    const [at = 0] = await pointsOf(kind);
    const ward = await wardFor(kind);
    await cut(ward, at, "after");
    writeFileSync(join(ward.target, "version"), "bad");
    await within(ward, async (holdfast) => {
      const { ok, bad, unfinished } = await verifyManifests(holdfast);
      expect({ ok, bad: bad.map(({ why }) => why) }).toEqual({ ok: false, bad: ["has another content"] });
      expect(unfinished).toMatchObject([{ content: "new" }]);
    });
  });
});

describe.each(KINDS)("a publish that was killed before its exchange, on the %s store", (kind) => {
  it("is named with the old content, and undone by a lock above the target's files", async () => {
    const [at = 0] = await pointsOf(kind);
    const ward = await wardFor(kind);
    await cut(ward, at, "before");
    await mourn(kind, ward);
    await within(ward, async (holdfast) => {
      expect(await verifyManifests(holdfast)).toMatchObject({ ok: true, unfinished: [{ content: "old" }] });
      await using _all = await holdfast.acquire("path");
      expect(await listManifests(holdfast, { state: "pending" })).toEqual([]);
      expect(await verifyManifests(holdfast)).toMatchObject({ ok: true, unfinished: [] });
    });
    expect(versionAt(ward)).toBe("old");
  });
});
