import { beforeAll, describe, it } from "vitest";
import { administer, sharedServer, type TestServer } from "../fixtures/postgres/server.fixture.js";
import { dropPostgresStore, newPostgresStore } from "../fixtures/postgres/stores.fixture.js";
import { describeStoreContract } from "./store-contract.fixture.js";

let server: TestServer;

beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

describeStoreContract(
  {
    name: "postgres",
    // The heart thread loads compiled code; test/contract/postgres covers it.
    options: { heart: "loop" },
    provesNoDeath: true,
    newStore: () => newPostgresStore(server),
    dropStore: (url) => dropPostgresStore(server, url),
    spoil: async (url, key, how) => {
      const version = how === "newer" ? 99 : -1;
      await administer(url, `update holdfast.grants set schema_version = ${version} where resource = '${key}'`);
    },
    outdate: async (url) => {
      await administer(url, "update holdfast.store set schema_version = 99");
    },
    tamper: async (url, tree, how, seq) => {
      const at = `where tree = '${tree}' and seq ${how === "cut" ? ">=" : "="} ${seq}`;
      await administer(
        url,
        how === "delete" || how === "cut"
          ? `delete from holdfast.audit ${at}`
          : `update holdfast.audit set ${how === "edit" ? "event = 'granted', owner = 'robot:x'" : "details = '['"} ${at}`,
      );
    },
  },
  { describe: describe.concurrent, it },
);
