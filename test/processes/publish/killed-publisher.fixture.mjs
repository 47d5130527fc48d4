// Publishes in this process and is killed at an operation: STORE DIR VERSION AT WHEN. Says on stdout what it was told, if it
// comes that far, and kills itself then.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { openHoldfast } from "../../../dist/index.js";
import { publish } from "../../../dist/publish.js";
import { Database } from "../../../dist/store/sqlite/connection/database.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";

const [store, dir, version, at, when] = process.argv.slice(2);
const { commit } = Database.prototype;
Database.prototype.commit = function () {
  faults.point("COMMIT", () => commit.call(this));
};

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (...args) {
  return faults.point("QUERY", () => query.apply(this, args));
};

faults.watch(dir);
faults.arm({ at: Number(at), when, what: at === "0" ? "none" : "kill" });
const holdfast = await openHoldfast({ store, owner: "agent:doomed", heart: "loop", wait: "20s" });
await publish({ holdfast, key: "site" }, join(dir, "place", "out"), async (stage) => {
  await stage.write("version", version);
  await stage.write("sub/deep/page", `page of ${version}`);
  writeFileSync(join(stage.path, "by-hand"), version);
  mkdirSync(join(stage.path, "empty"));
});
const { seen } = faults.disarm();
process.stdout.write(`${JSON.stringify({ told: version, count: seen.length })}\n`, () => {
  process.kill(process.pid, "SIGKILL");
});
