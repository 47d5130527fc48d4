/** Wall clocks that are wrong or jump, by libfaketime: leases are measured on a clock that does neither. */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Scene, SIDE_BY_SIDE, STORES } from "../../fixtures/client/processes.fixture.js";

const library = findLibrary();

/** Debian's package libfaketime puts it into a folder of the architecture, others into lib or lib64. */
function findLibrary(): string | null {
  const roots = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].filter((root) => existsSync(root));
  const folders = roots.flatMap((root) => [root, ...readdirSync(root).map((name) => `${root}/${name}`)]);
  return folders.map((folder) => `${folder}/faketime/libfaketimeMT.so.1`).find((path) => existsSync(path)) ?? null;
}

/** The environment of a process whose wall clock is off by what `file` says, looked up every second. */
function fakeClock(file: string): Record<string, string> {
  return {
    LD_PRELOAD: library ?? "",
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    FAKETIME_DONT_RESET: "1",
  };
}

describe.each(STORES)("wall clocks (%s)", SIDE_BY_SIDE, (kind) => {
  describe.each(["+2h", "-2h"])("%s", SIDE_BY_SIDE, (shift) => {
    // kills: wall-clock
    it.skipIf(library === null)(
      `STALE-8: a challenger that far off does not steal a live lease (needs libfaketime)`,
      async () => {
        await using scene = new Scene(kind);
        writeFileSync(scene.file("clock"), shift);
        const holder = await scene.start();
        const challenger = await scene.start({ owner: "agent:b", env: fakeClock(scene.file("clock")) });
        const held = await holder.acquire("work", { ttl: "10m" });
        await expect(challenger.acquire("work", { wait: "1s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
        await held.commit(scene.file("result"), "kept");
        await held.release();
        const next = await challenger.acquire("work", { wait: "1m" });
        // So that nobody takes this for a test with a right clock.
        expect(Math.abs(Date.parse(next.record.created_at) - Date.now())).toBeGreaterThan(3_600_000);
      },
    );

    // kills: wall-clock
    it.skipIf(library === null)(
      `STALE-8: a holder whose clock jumps that far keeps its lease (needs libfaketime)`,
      async () => {
        await using scene = new Scene(kind);
        writeFileSync(scene.file("clock"), "+0s");
        const holder = await scene.start({ env: fakeClock(scene.file("clock")) });
        const challenger = await scene.start({ owner: "agent:b" });
        const held = await holder.acquire("work", { ttl: "9s" });
        await sleep(200);
        writeFileSync(scene.file("clock"), shift);
        await expect(challenger.acquire("work", { wait: "10s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
        expect(await held.look()).toEqual({ state: "held", abort: null });
        await held.commit(scene.file("result"), "kept");
        const status = await (await scene.open()).inspect("work");
        const renewedAt = Date.parse(status.grants[0]?.last_renewed_at ?? "");
        expect(Math.abs(renewedAt - Date.now())).toBeGreaterThan(3_600_000);
      },
    );

    // kills: wall-clock
    it.skipIf(library === null)(
      `STALE-8: a lease taken that far off still ends in its time (needs libfaketime)`,
      async () => {
        await using scene = new Scene(kind);
        writeFileSync(scene.file("clock"), shift);
        const holder = await scene.start({ env: fakeClock(scene.file("clock")) });
        const challenger = await scene.start({ owner: "agent:b" });
        const takenAt = performance.now();
        await holder.acquire("work", { ttl: "1s", detached: true });
        await holder.exit();
        await challenger.acquire("work", { wait: "1m" });
        expect(performance.now() - takenAt).toBeGreaterThan(990);
      },
    );

    it.skipIf(library === null)(
      `AUDIT-4: a chain written under two clocks is listed in its own order (needs libfaketime)`,
      async () => {
        await using scene = new Scene(kind);
        writeFileSync(scene.file("clock"), shift);
        const right = await scene.start();
        const wrong = await scene.start({ owner: "agent:b", env: fakeClock(scene.file("clock")) });
        for (const client of [right, wrong, right, wrong]) await (await client.acquire("tree/work")).release();
        const entries = await (await scene.open()).audit.list({ resource: "tree" });
        expect(entries.map((entry) => entry.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      },
    );
  });
});
