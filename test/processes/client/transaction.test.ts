/** Fenced transactions of real processes: killed inside, stopped inside past their lease, overtaken before. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Holdfast, Lease } from "../../../dist/index.js";
import { PATIENTLY, Scene } from "../../fixtures/client/processes.fixture.js";

const KEY = "tiles";
const INSERT = "INSERT INTO tiles VALUES ('theirs')";

async function makeTable(holdfast: Holdfast): Promise<void> {
  await holdfast.withLock(KEY, {}, (lease) => lease.transaction((sql) => sql.rows("CREATE TABLE tiles (text)")));
}

function tiles(lease: Lease): Promise<unknown[]> {
  return lease.transaction((sql) => sql.rows("SELECT text FROM tiles").map((row) => row.text));
}

async function untilThere(file: string): Promise<void> {
  while (!existsSync(file)) await sleep(5);
}

describe("FENCE-3: fenced transactions between processes", PATIENTLY, () => {
  it("a process killed inside one leaves nothing of it", async () => {
    await using scene = new Scene("sqlite");
    const holdfast = await scene.open();
    await makeTable(holdfast);
    const client = await scene.start();
    const lease = await client.acquire(KEY);
    lease.transactAndBlock(INSERT, scene.file("inside"), 60_000).catch(() => undefined);
    await untilThere(scene.file("inside"));
    await client.kill();
    expect(await tiles(await holdfast.acquire(KEY, { wait: "30s" }))).toEqual([]);
  });

  it("nobody takes over from a transaction that is still open, also when its lease has run out", async () => {
    await using scene = new Scene("sqlite");
    const holdfast = await scene.open();
    await makeTable(holdfast);
    const client = await scene.start({ heart: "loop" });
    const lease = await client.acquire(KEY, { ttl: "5s" });
    const writing = lease.transactAndBlock(INSERT, scene.file("inside"), 7_000);
    await untilThere(scene.file("inside"));
    await sleep(5_000);
    const next = await holdfast.acquire(KEY, { wait: "30s" });
    expect(await tiles(next)).toEqual(["theirs"]);
    await writing;
  });

  it("whoever was overtaken while it was stopped writes nothing", async () => {
    await using scene = new Scene("sqlite");
    const holdfast = await scene.open();
    await makeTable(holdfast);
    const client = await scene.start();
    const lease = await client.acquire(KEY, { ttl: "1s" });
    await scene.stop(client, KEY);
    const next = await holdfast.acquire(KEY, { wait: "30s" });
    const writing = lease.transactAndBlock(INSERT, scene.file("inside"), 0);
    client.continue();
    await expect(writing).rejects.toMatchObject({
      code: expect.stringMatching(/^E_(FENCING_MISMATCH|LOCK_EXPIRED|LOCK_NOT_HELD)$/),
    });
    expect(await tiles(next)).toEqual([]);
  });
});
