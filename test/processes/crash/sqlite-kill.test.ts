/** An SQLite store whose processes are killed at any moment: the write-ahead log has it whole or not at all. */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openHoldfast } from "../../../src/features/configuration.js";
import { Database } from "../../../src/store/sqlite/connection/database.js";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { inParallel } from "../../fixtures/crash/kill.fixture.js";
import type { Told } from "../../fixtures/crash/scenarios.fixture.mjs";
import { expectConsistent, tokensIn } from "../../fixtures/crash/store-state.fixture.js";

const LOOP = fileURLToPath(new URL("./sqlite-loop.fixture.mjs", import.meta.url));
const KEYS = ["alpha", "beta", "gamma"];
const KILLS = 20;

let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

/** Lets a process work on the store and kills it after it has been told so many things, or a moment later. */
function workUntilKilled(path: string, seed: number): Promise<Told[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [LOOP, path, String(seed)], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.split("\n").length > 2 + (seed % 17)) setTimeout(() => child.kill("SIGKILL"), (seed * 7) % 13);
    });
    child.on("exit", (_, signal) => {
      const lines = text.split("\n").slice(1, -1);
      if (signal === "SIGKILL") resolve(lines.map((line) => JSON.parse(line) as Told));
      else reject(new Error("the loop ended by itself"));
    });
  });
}

it("STORE-3: killed anywhere, the database is whole, the audit is right, and locks can be had again", async () => {
  const seeds = Array.from({ length: KILLS }, (_, at) => at + 1);
  await inParallel([0, 1], 2, async (lane) => {
    const path = join(base, `store-${lane}.db`);
    const told: Told[] = [];
    for (const seed of seeds.filter((each) => each % 2 === lane)) {
      told.push(...(await workUntilKilled(path, seed)));
      const database = new Database(path);
      expect(database.prepare("PRAGMA integrity_check").get()).toEqual(["ok"]);
      database.close();
      const client = await openHoldfast({ store: `sqlite:${path}`, owner: "admin:successor", heart: "loop", wait: 0 });
      const evidence = await expectConsistent(client);
      for (const { resource } of evidence.grants)
        await client.break(resource, { reason: "the test goes on" }).catch(() => undefined);
      const lease = await client.acquire(KEYS);
      for (const { resource, fencing_token: token } of lease.grants)
        for (const old of tokensIn(resource, evidence, told)) expect(token).toBeGreaterThan(old);
      await lease.release();
      await expectConsistent(client);
      await client.close();
    }
  });
});
