/** A server that crashes while somebody publishes, and comes back: the record and the disk agree, whatever its publisher was told. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { openHoldfast } from "../../src/index.js";
import { listManifests, publish, type Stage, verifyManifests } from "../../src/publish/index.js";
import type { TestServer } from "../postgres/server.js";
import { newPostgresStore } from "../postgres/stores.js";
import { outlive } from "./server-points.js";

export type Moment = "staging" | "sealed" | "renaming";

export async function crashWhile(server: TestServer, when: Moment): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-crash-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "place"));
  const target = join(dir, "place", "out");
  const store = await newPostgresStore(server);
  const client = async (owner: string) => {
    const holdfast = await openHoldfast({ store, owner, heart: "loop", wait: 0 });
    onTestFinished(() => holdfast.close());
    return holdfast;
  };
  const crash = (): void => {
    server.control?.crash();
    setImmediate(() => server.control?.start());
  };
  const page = (text: string) => (stage: Stage) => stage.write("version", text);

  const ours = await client("agent:a");
  await publish({ holdfast: ours, key: "site" }, target, page("old"));
  const told: string = await publish(
    await ours.acquire("site", { ttl: "24h" }),
    target,
    async (stage) => {
      await page("new")(stage);
      if (when === "staging") crash();
    },
    {
      beforeCommit: async () => (when === "sealed" ? crash() : undefined),
      underGuard: () => (when === "renaming" ? crash() : undefined),
    },
  ).then(
    () => "done",
    (error: { code?: string }) => error.code ?? String(error),
  );

  await outlive(store, 240 * 3_600_000);
  const theirs = await client("admin:next");
  await theirs.acquire("site");
  const found = readFileSync(join(target, "version"), "utf8");
  if (told === "done" || told === "E_COMMIT_UNCERTAIN") expect(found).toBe("new");
  else expect([found, told]).toEqual(["old", "E_STORE_UNAVAILABLE"]);
  if (when === "renaming") expect(found).toBe("new");
  expect(await listManifests(theirs, { state: "pending" })).toEqual([]);
  expect(await theirs.audit.list({ event: "published" })).toHaveLength(found === "new" ? 2 : 1);
  expect(await verifyManifests(theirs)).toMatchObject({ ok: true, targets: 1 });
  expect(await theirs.audit.verify()).toMatchObject({ ok: true });
}
