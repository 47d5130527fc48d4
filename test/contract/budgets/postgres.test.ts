import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { databaseOf, sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { openCountingWire } from "./counting-wire.fixture.js";
import { expectBudgets } from "./table.fixture.js";

const CLIENT = fileURLToPath(new URL("./client.fixture.mjs", import.meta.url));

interface Mark {
  readonly moment: "begin" | "end";
  readonly name: string;
}

const isForeign = process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined;

it.skipIf(isForeign)(
  "budgets of postgres: each operation takes as many round trips as recorded (needs a PostgreSQL server that the tests start)",
  async () => {
    const server = await sharedServer();
    const database = databaseOf(await newPostgresStore(server));
    await using wire = await openCountingWire(server.control?.socket ?? "");
    const folder = mkdtempSync(join(tmpdir(), "holdfast-budgets-"));
    const store = `postgres://postgres@127.0.0.1:${wire.port}/${database}?query_timeout=60000&connect_timeout=60`;
    const client = fork(CLIENT, [store, folder], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    try {
      const found: Record<string, { roundTrips: number; statements: number }> = {};
      let before = wire.counts();
      client.on("message", ({ moment, name }: Mark) => {
        const { roundTrips, statements } = wire.counts();
        if (moment === "begin") before = { roundTrips, statements };
        else found[name] = { roundTrips: roundTrips - before.roundTrips, statements: statements - before.statements };
        client.send("go on");
      });
      expect(await once(client, "exit")).toEqual([0, null]);
      expectBudgets("postgres", found);
    } finally {
      client.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
