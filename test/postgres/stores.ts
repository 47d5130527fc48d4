/** Databases with an empty store in them, copied from one that was migrated once. */
import { migrateStore } from "../../src/index.js";
import { administer, databaseOf, inDatabase, type TestServer } from "./server.js";

const TEMPLATE = "holdfast_template";
let made = 0;

/** The URL of a store that nobody has used yet. */
export async function newPostgresStore({ url }: TestServer): Promise<string> {
  await template(url);
  made += 1;
  const name = `holdfast_${process.pid}_${made}`;
  await administer(url, `create database ${name} template ${TEMPLATE}`);
  return inDatabase(url, name);
}

export async function dropPostgresStore({ url }: TestServer, store: string): Promise<void> {
  await administer(url, `drop database ${databaseOf(store)} with (force)`);
}

const templates = new Map<string, Promise<void>>();

function template(url: string): Promise<void> {
  const known = templates.get(url) ?? makeTemplate(url);
  templates.set(url, known);
  return known;
}

/** Test files share a server: whoever comes first makes it, the others wait. */
async function makeTemplate(url: string): Promise<void> {
  const [is] = await administer<{ there: boolean }>(
    url,
    "select pg_advisory_lock(7305)",
    `select exists (select 1 from pg_database where datname = '${TEMPLATE}' and datistemplate) as there`,
  );
  if (is?.there) return;
  const draft = `${TEMPLATE}_${process.pid}`;
  await administer(url, `create database ${draft}`);
  await migrateStore(inDatabase(url, draft));
  await administer(
    url,
    `alter database ${draft} rename to ${TEMPLATE}`,
    `alter database ${TEMPLATE} is_template true`,
  ).catch((error: { code?: string }) => {
    // 42P04: another test file was faster.
    if (error.code !== "42P04") throw error;
  });
}
