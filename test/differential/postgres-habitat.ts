/**
 * PostgreSQL, and the model to compare it with: the reference store as it is where nobody can prove a death. The server's
 * clock is replaced by one that the test moves; it is set before each call, as the steps themselves are not.
 */
import pg from "pg";
import type { Store } from "../../src/store/contract.js";
import { firstSettings } from "../../src/store/first-settings.js";
import { lacks } from "../../src/store/lacks.js";
import { createLocalStore } from "../../src/store/local-store.js";
import { createMemoryLedger } from "../../src/store/memory/ledger.js";
import { openPostgresStore } from "../../src/store/postgres/open.js";
import { witness } from "../lock/samples.js";
import type { TestServer } from "../postgres/server.js";
import { newPostgresStore } from "../postgres/stores.js";
import { createClock, createTurn, type Habitat, OPENINGS, SETTINGS } from "./habitats.js";

const PROOF = { kind: "file", file: "some", inherited: false } as const;

export async function openModelWithoutDeaths(): Promise<Habitat> {
  const { clock, goTo, pass } = createClock();
  const store = createLocalStore(createMemoryLedger("memory:no-deaths", firstSettings(SETTINGS), clock), {
    witness: witness("unknown"),
    wakeUps: {
      listen: () => ({ mayHaveMissed: true, [Symbol.dispose]: () => undefined }),
      wake: () => false,
      close: () => undefined,
    },
    prove: () => PROOF,
    commandsInherit: false,
    proveForCommand: lacks("commandsInherit"),
    close: () => undefined,
  });
  return {
    name: "memory",
    store,
    now: clock,
    goTo,
    pass,
    bear: () => PROOF,
    kill: () => undefined,
    close: () => store.close(),
  };
}

export async function openPostgresHabitat(server: TestServer): Promise<Habitat> {
  const { clock, goTo, pass } = createClock();
  const url = await newPostgresStore(server);
  const hand = new pg.Client({ connectionString: url });
  await hand.connect();
  await hand.query(`create table public.test_clock as select 0::bigint as ms;
    create or replace function holdfast.now_ms() returns bigint language sql volatile as 'select ms from public.test_clock'`);
  let setTo = 0;
  const setClock = async (): Promise<void> => {
    const { wallMs } = clock();
    if (wallMs !== setTo) await hand.query("update public.test_clock set ms = $1", [wallMs]);
    setTo = wallMs;
  };
  const openings: Store[] = [];
  for (let times = 0; times < OPENINGS; times += 1)
    openings.push(setting(await openPostgresStore(url, SETTINGS, clock), setClock));
  const next = createTurn(openings);
  return {
    name: "postgres",
    get store() {
      return next();
    },
    now: clock,
    goTo,
    pass,
    bear: () => PROOF,
    kill: () => undefined,
    async close() {
      for (const opening of openings) await opening.close();
      await hand.end();
    },
  };
}

/** The same store, with the clock set before every call. */
function setting(store: Store, setClock: () => Promise<void>): Store {
  const wrap = <T extends object>(calls: T): T =>
    Object.fromEntries(
      Object.entries(calls).map(([name, call]) => [
        name,
        async (...args: unknown[]) => {
          await setClock();
          return (call as (...args: unknown[]) => unknown)(...args);
        },
      ]),
    ) as T;
  return { ...store, locks: wrap(store.locks), fence: wrap(store.fence), reader: wrap(store.reader) };
}
