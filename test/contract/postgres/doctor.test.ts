import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type DoctorReport, examine } from "../../../src/apps/doctor/examine.js";
import type { Config } from "../../../src/client/workspace/config.js";
import { openTokenFiles } from "../../../src/client/workspace/token-files.js";
import { tokenFolder } from "../../../src/client/workspace/token-folder.js";
import { findWorkspace } from "../../../src/features/configuration.js";
import { type HoldfastOptions, openHoldfast } from "../../../src/index.js";
import { administer, inDatabase, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const DETACHED = { detached: true, ttl: "1h" } as const;
let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 60_000);

class Ward {
  readonly url: string;
  readonly state = mkdtempSync(join(tmpdir(), "holdfast-doctor-postgres-"));

  constructor(url: string) {
    this.url = url;
    onTestFinished(() => rmSync(this.state, { recursive: true, force: true }));
  }

  /** A store that somebody has used. */
  static async open(options: HoldfastOptions = {}): Promise<Ward> {
    const ward = new Ward(await newPostgresStore(server));
    const holdfast = await openHoldfast({ ...options, store: ward.url, owner: "agent:one", heart: "loop" });
    await holdfast.acquire("t/x", DETACHED);
    await holdfast.close();
    return ward;
  }

  examine({ repair = false, config = {} as Config } = {}): Promise<DoctorReport> {
    const env = { XDG_STATE_HOME: this.state };
    const workspace = findWorkspace({ store: this.url, owner: "agent:doctor" }, { cwd: this.state, env });
    return examine({ ...workspace, config }, { repair, env });
  }

  /** What is found beside that the test servers do not wait for their disk. */
  async codes(options = {}): Promise<string[]> {
    const { findings } = await this.examine(options);
    return findings.map(({ code }) => code).filter((code) => code !== "STORE_FORGETFUL");
  }

  sql(statement: string): Promise<unknown> {
    return administer(this.url, statement);
  }
}

describe("the doctor on PostgreSQL", { timeout: 60_000 }, () => {
  it("finds nothing wrong with a store that is well, and changes nothing", async () => {
    const ward = await Ward.open();
    const rows = () =>
      administer(
        ward.url,
        "select (select json_agg(t) from holdfast.trees t) as t, (select json_agg(g) from holdfast.grants g) as g",
      );
    const before = await rows();
    expect(await ward.codes()).toEqual([]);
    expect(await rows()).toEqual(before);
  });

  it("tells a server that cannot be reached, one without a store, one that nobody has opened, and a newer one", async () => {
    const nowhere = new Ward(inDatabase(server.url, "holdfast_is_not_here"));
    expect(await nowhere.codes()).toEqual(["STORE_UNREADABLE"]);
    expect(await new Ward(server.url).codes()).toEqual(["STORE_UNREADABLE"]);
    const unused = new Ward(await newPostgresStore(server));
    expect(await unused.codes()).toEqual(["STORE_MISSING"]);
    expect(await administer(unused.url, "select store_id from holdfast.store")).toEqual([{ store_id: null }]);
    const ward = await Ward.open();
    await ward.sql("update holdfast.store set schema_version = 99");
    expect(await ward.codes()).toEqual(["STORE_NEWER"]);
  });

  it("tells functions of another version, settings that disagree, and a server that does not wait for its disk", async () => {
    const ward = await Ward.open();
    expect(await ward.codes({ config: { levels: ["other"] } })).toEqual(["SETTINGS_DISAGREE"]);
    await ward.sql("update holdfast.store set functions_hash = 'older'");
    expect(await ward.codes()).toEqual(["STORE_OUTDATED"]);
    await ward.sql(
      `do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`,
    );
    const { findings } = await ward.examine();
    expect(findings.find(({ code }) => code === "STORE_FORGETFUL")?.message).toContain("synchronous_commit = off");
  });

  it("finds what is left and broken; repairs end what is recoverable, and nothing else", async () => {
    const ward = await Ward.open();
    await ward.sql("update holdfast.grants set renewed_ms = renewed_ms - 7200000");
    await ward.sql(
      `insert into holdfast.tickets values ('t', 'old', 1, array[('t/x', 'write', null)::holdfast.want], 'agent:gone', 'h',
         'n', '{"kind":"none"}', 0, 1000, 0, null)`,
    );
    expect(await ward.codes()).toEqual(["GRANT_RECOVERABLE", "TICKET_STALE"]);
    const { repaired } = await ward.examine({ repair: true });
    expect(repaired.map(({ code, ok }) => [code, ok])).toEqual([
      ["GRANT_RECOVERABLE", true],
      ["TICKET_STALE", true],
    ]);
    expect(await ward.codes()).toEqual([]);
    await ward.sql("update holdfast.audit set owner = 'agent:other' where seq = 1");
    expect(await ward.codes()).toEqual(["AUDIT_BROKEN"]);
  });

  it.each([
    [-1, "RECORD_UNREADABLE"],
    [99, "RECORD_NEWER"],
  ])("leaves a record of version %i alone (%s)", async (version, code) => {
    const ward = await Ward.open();
    await ward.sql(`update holdfast.grants set schema_version = ${version}`);
    expect(await ward.codes({ repair: true })).toEqual([code]);
    expect(await administer(ward.url, "select schema_version from holdfast.grants")).toEqual([
      { schema_version: version },
    ]);
  });

  // kills: postgres-doctor-tokens
  it("finds kept tokens that open nothing, though the server shows no hashes, and keeps those that open something", async () => {
    const ward = await Ward.open();
    const holdfast = await openHoldfast({ store: ward.url, owner: "agent:one", heart: "loop" });
    onTestFinished(() => holdfast.close());
    const lease = await holdfast.acquire("u", DETACHED);
    const files = openTokenFiles(tokenFolder(null, { XDG_STATE_HOME: ward.state }, holdfast.storeUrl), "agent:one");
    files.keep(["u"], lease.token, new Date(Date.now() - 26 * 3_600_000));
    expect(await ward.codes()).toEqual([]);
    files.keep(["u"], "hf_opens_nothing", new Date(Date.now() - 26 * 3_600_000));
    expect(await ward.codes()).toEqual(["TOKEN_ORPHAN"]);
    await ward.examine({ repair: true });
    expect(files.find("u").map(({ lease_token }) => lease_token)).toEqual([lease.token]);
  });
});
