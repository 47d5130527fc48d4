// What PostgreSQL itself offers, through the same driver: the least that a lease row can be, and a session's advisory lock.
import pg from "pg";

const LEASE_MS = 30_000;

/**
 * One row per key with a counter, taken in one durable commit and given back in another. No line, no tree, no audit. As many
 * connections as there are clients.
 */
export async function openPostgresLeaseRow(url) {
  const pool = new pg.Pool({ connectionString: url, max: 16 });
  await pool.query(
    "create table if not exists bench_leases (key text primary key, holder text, fence bigint, until bigint)",
  );
  const holder = String(process.pid);
  return {
    async take(key) {
      const now = Date.now();
      const { rows } = await pool.query(
        `insert into bench_leases values ($1, $2, 1, $3) on conflict (key) do update
           set holder = excluded.holder, fence = bench_leases.fence + 1, until = excluded.until
           where bench_leases.until < $4 returning fence`,
        [key, holder, now + LEASE_MS, now],
      );
      if (rows.length === 0) throw new Error(`${key} is taken`);
      return {
        release: () => pool.query("update bench_leases set until = 0 where key = $1 and holder = $2", [key, holder]),
      };
    },
    close: () => pool.end(),
  };
}

/** Held by a connection, queued in the server, gone with the session. */
export async function openPostgresAdvisoryLock(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    async take(key) {
      await client.query("select pg_advisory_lock(hashtext($1))", [key]);
      return { release: () => client.query("select pg_advisory_unlock(hashtext($1))", [key]) };
    },
    close: () => client.end(),
  };
}

/**
 * The least that is durable: the same advisory lock, and a row with a counter that is raised with every release, on the disk
 * before the next one is let in. Nobody's name, no lease, no record.
 */
export async function openPostgresDurableLine(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    select pg_advisory_lock(0);
    create table if not exists bench_fences (key text primary key, fence bigint);
    create or replace function bench_take(wanted text) returns bigint language plpgsql as $$
    begin
      perform pg_advisory_lock(hashtext(wanted));
      return (select fence from bench_fences where key = wanted);
    end $$`);
  await client.query("select pg_advisory_unlock(0)");
  const known = new Set();
  return {
    async take(key) {
      if (!known.has(key)) await client.query("insert into bench_fences values ($1, 0) on conflict do nothing", [key]);
      known.add(key);
      await client.query("select bench_take($1)", [key]);
      const release = `begin; update bench_fences set fence = fence + 1 where key = '${key}'; commit;
        select pg_advisory_unlock(hashtext('${key}'))`;
      return { release: () => client.query(release) };
    },
    close: () => client.end(),
  };
}

/**
 * The least that is durable and wakes by NOTIFY: one row a key that says who holds it and who waits, changed by one statement
 * a call; that of a release tells the next one with its commit. No lease, no rules, no record; one kind of lock.
 */
export async function openPostgresBareNotify(url) {
  const client = new pg.Client({ connectionString: url });
  const ears = new pg.Client({ connectionString: url });
  await Promise.all([client.connect(), ears.connect()]);
  const me = `bench_${process.pid}`;
  let rung = () => undefined;
  ears.on("notification", () => rung());
  await ears.query(`listen ${me}`);
  await client.query(`
    select pg_advisory_lock(0);
    create table if not exists bench_lines (key text primary key, fence bigint, line text[]);
    create or replace function bench_join(wanted text, me text) returns boolean language sql as
    $$ update bench_lines set line = line || me, fence = fence + (line = '{}')::int where key = wanted
       returning line[1] = me $$;
    create or replace function bench_leave(wanted text) returns void language sql as
    $$ with left_behind as (update bench_lines set line = line[2:], fence = fence + 1 where key = wanted returning line[1] next)
       select pg_notify(next, '') from left_behind where next is not null $$`);
  await client.query("select pg_advisory_unlock(0)");
  const known = new Set();
  return {
    async take(key) {
      if (!known.has(key))
        await client.query("insert into bench_lines values ($1, 0, '{}') on conflict do nothing", [key]);
      known.add(key);
      const isToldFirst = new Promise((resolve) => {
        rung = resolve;
      });
      const { rows } = await client.query({
        name: "join",
        text: "select bench_join($1, $2) as is_in",
        values: [key, me],
      });
      if (!rows[0].is_in) await isToldFirst;
      return { release: () => client.query({ name: "leave", text: "select bench_leave($1)", values: [key] }) };
    },
    close: () => Promise.all([client.end(), ears.end()]),
  };
}
