// PostgreSQL with durable commits, beside what it offers itself. The server is started for this, with its defaults, in a
// folder of its own; HOLDFAST_TEST_POSTGRES_URL measures another.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrateStore } from "../../dist/index.js";
import { SAFE, startServer } from "../../test/fixtures/postgres/server-process.fixture.mjs";
import { startChild } from "../child.mjs";
import { interleave } from "../interleave.mjs";
import { median, ratioOf, spreadOf } from "../statistics.mjs";
import { milliseconds, perSecond } from "../table.mjs";
import { contendInTurn } from "./contended.mjs";

export const postgres = {
  title: "PostgreSQL, commits durable",
  async measure(sizes) {
    const url = await openServer();
    return [
      ...(await uncontended(url, sizes.alone)),
      ...(await sideBySide(url, sizes.together)),
      ...(await contended(url, sizes.contended)),
      ...(await growth(url, sizes.growth)),
    ];
  },
};

/** Not in the usual scratch folder, which a server that runs as another user cannot enter. It goes with this process. */
async function openServer() {
  const folder = () => mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "holdfast-bench-postgres-"));
  const url = process.env.HOLDFAST_TEST_POSTGRES_URL ?? startServer(folder(), SAFE, process.pid).url;
  await migrateStore(url);
  return url;
}

async function uncontended(url, { rounds, warmUps, ms }) {
  const names = ["postgres", "postgres-lease-row"];
  const children = new Map();
  for (const name of names) children.set(name, await startChild("pairs.mjs", name, url));
  const rates = await interleave(names, { rounds, warmUps }, (name) =>
    children.get(name).call("rate", { keys: "shop", ms }),
  );
  for (const child of children.values()) await child.stop();
  return [
    {
      what: "acquire + release : a bare lease row",
      ours: perSecond(median(rates.get("postgres"))),
      peer: perSecond(median(rates.get("postgres-lease-row"))),
      ratio: ratioOf(rates.get("postgres"), rates.get("postgres-lease-row")),
      goal: { atLeast: 0.7 },
    },
  ];
}

/**
 * Trees do not wait for each other, and their commits share the disk's syncs. How much there is to share, the peer shows. All
 * clients are in one process: sixteen of them would share the cores of a small machine, and little else would be measured.
 */
async function sideBySide(url, sizes) {
  return [
    { ...(await allBesideOne("postgres", url, sizes)), goal: { atLeast: 3 } },
    { ...(await allBesideOne("postgres-lease-row", url, sizes)), goal: null },
  ];
}

async function allBesideOne(contestant, url, { clients, rounds, warmUps, ms }) {
  const child = await startChild("pairs.mjs", contestant, url);
  const rates = await interleave(["one", "all"], { rounds, warmUps }, (name) =>
    child.call("rateOfMany", { keys: "till", clients: name === "one" ? 1 : clients, ms }),
  );
  await child.stop();
  return {
    what: `${clients} clients on ${clients} keys : one client${contestant === "postgres" ? "" : ", of bare lease rows"}`,
    ours: perSecond(median(rates.get("all"))),
    peer: perSecond(median(rates.get("one"))),
    ratio: ratioOf(rates.get("all"), rates.get("one")),
    unit: "×",
  };
}

async function contended(url, sizes) {
  const found = await contendInTurn(
    ["postgres-advisory", "postgres-durable-line", "postgres-bare-notify", "postgres"],
    () => url,
    sizes,
  );
  const of = (name, field) => found.get(name).map((round) => round[field]);
  const besideAdvisory = (what, name, field, show, goal) => ({
    what,
    ours: show(median(of(name, field))),
    peer: show(median(of("postgres-advisory", field))),
    ratio: ratioOf(of(name, field), of("postgres-advisory", field)),
    goal,
  });
  return [
    besideAdvisory(
      `${sizes.processes} processes, one key, 2 ms each : a session's advisory lock`,
      "postgres",
      "perSecond",
      perSecond,
      {
        atLeast: 0.85,
      },
    ),
    besideAdvisory(
      "the same of a counter that is raised durably under that lock",
      "postgres-durable-line",
      "perSecond",
      perSecond,
      null,
    ),
    besideAdvisory(
      "the same of a row that says who is in line, changed durably, with NOTIFY to the next",
      "postgres-bare-notify",
      "perSecond",
      perSecond,
      null,
    ),
    {
      what: "busiest : idlest of them",
      ours: "",
      peer: "",
      ratio: spreadOf(of("postgres", "fairness")),
      goal: { atMost: 1.1 },
    },
    besideAdvisory("release → next in, p50", "postgres", "handOverP50", milliseconds, null),
  ];
}

async function growth(url, { many, rounds, warmUps, ms }) {
  const child = await startChild("pairs.mjs", "postgres", url);
  const rate = () => interleave(["rate"], { rounds, warmUps }, () => child.call("rate", { keys: "crowd/lone", ms }));
  const few = (await rate()).get("rate");
  await crowd(url, many);
  const full = (await rate()).get("rate");
  await child.stop();
  return [
    {
      what: "cost beside many held locks, as a multiple of the cost beside none",
      ours: `${perSecond(median(full))} with ${many.toLocaleString("en-US")}`,
      peer: perSecond(median(few)),
      ratio: spreadOf(few.map((value, round) => value / full[round])),
      goal: { atMost: 1.5 },
    },
  ];
}

/** Half of them siblings of the key that is measured, half trees of their own. */
async function crowd(url, count) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `insert into holdfast.grants
     select case when i % 2 = 0 then 'crowd/other-' || i else 'tree-' || i end, gen_random_uuid()::text, 1, 'write', null,
       'service:crowd', 'crowd', 'crowd', 0, holdfast.now_ms(), 86400000, 86400000, 0, i, 'crowd', 'default', true, null,
       '{"kind":"none"}', '{}'
     from generate_series(1, $1::int) i`,
    [count],
  );
  await client.query("analyze holdfast.grants");
  await client.end();
}
