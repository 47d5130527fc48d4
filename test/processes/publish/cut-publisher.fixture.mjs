// Publishes a folder of a workspace twice, under the key `project:p` and so under that of its files too, and is killed at an
// operation of the second time: ROOT AT WHEN. Says on stdout which operations there are, when it is not killed before.
import { join } from "node:path";
import pg from "pg";
import { openHoldfast } from "../../../dist/index.js";
import { publish } from "../../../dist/publish.js";
import { Database } from "../../../dist/store/sqlite/connection/database.js";
import { faults } from "../../fixtures/fault-injection.fixture.mjs";

const [root, at, when] = process.argv.slice(2);
const { commit } = Database.prototype;
Database.prototype.commit = function () {
  faults.point("COMMIT", () => commit.call(this));
};

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (...args) {
  return faults.point("QUERY", () => query.apply(this, args));
};

const holdfast = await openHoldfast({ root, owner: "agent:doomed", heart: "loop", wait: "20s" });
const to = (version) =>
  publish({ holdfast, key: "project:p" }, join(root, "out"), async (stage) => {
    await stage.write("version", version);
  });
await to("old");
faults.watch(root);
faults.arm({ at: Number(at), when, what: at === "0" ? "none" : "kill" });
await to("new");
const { seen } = faults.disarm();
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.kill(process.pid, "SIGKILL"));
