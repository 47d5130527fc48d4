// Opens an SQLite store with these migrations once it is told to: PATH MIGRATIONS [VERSION]. Dies where it would run the one
// to VERSION. Says "ready" and "open" on stdout.
import { once } from "node:events";
import { createSystemClock } from "../../../../dist/platform/clock.js";
import { openSqliteStore } from "../../../../dist/store/sqlite/open.js";

const [path, text, fatal] = process.argv.slice(2);
const migrations = JSON.parse(text).map(({ version, about, sql }) => ({
  version,
  about,
  get sql() {
    if (version === Number(fatal)) process.kill(process.pid, "SIGKILL");
    return sql;
  },
}));

process.stdout.write("ready\n");
await once(process.stdin, "data");
const store = await openSqliteStore(path, {}, createSystemClock(), { migrations });
process.stdout.write("open\n");
await store.close();
process.stdin.destroy();
