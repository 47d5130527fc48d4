import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { publish, settleUnfinished, verifyManifests } from "../../../src/publish.js";
import { asRole, createLoginRoles } from "../../fixtures/postgres/login-roles.fixture.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
  await createLoginRoles(server);
}, 240_000);

describe.skipIf(process.env.HOLDFAST_TEST_POSTGRES_URL !== undefined)(
  "roles (needs a PostgreSQL server that the tests start)",
  () => {
    it("STORE-4: holdfast_user does everything but break, and only holdfast_admin breaks", async () => {
      const url = await newPostgresStore(server);
      const agent = await openHoldfast({ store: asRole(url, "hf_agent"), owner: "user:agent", heart: "loop" });
      const boss = await openHoldfast({ store: asRole(url, "hf_boss"), owner: "admin:boss", heart: "loop" });
      const lease = await agent.acquire("project:alpha", { mode: "upgradeable" });
      await lease.upgrade();
      await lease.renew();
      expect(await lease.commit(() => "written")).toBe("written");
      await expect(agent.break("project:alpha", { reason: "I want to" })).rejects.toMatchObject({
        code: "E_FORBIDDEN",
      });
      expect(await boss.break("project:alpha", { reason: "needed" })).toHaveLength(1);
      await expect(lease.verify()).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
      expect((await agent.audit.verify()).ok).toBe(true);
      expect(await boss.list()).toEqual([]);
      await agent.close();
      await boss.close();
    });

    it("STORE-4: nobody but the owner touches the tables or the inner functions, and a stranger nothing at all", async () => {
      const url = await newPostgresStore(server);
      await administer(url, "select holdfast.acquire('{k}', 'agent:a')");
      for (const role of ["hf_agent", "hf_boss", "hf_stranger"]) {
        for (const statement of [
          "select * from holdfast.grants",
          "delete from holdfast.grants",
          "update holdfast.trees set fence = 0",
          "insert into holdfast.audit select * from holdfast.audit",
          "truncate holdfast.tickets",
          "select nextval('holdfast.ticket_numbers')",
          "select holdfast.mint(null, 'k', 0)",
          "select holdfast.drop_grants('{}')",
          "select holdfast.append(null, 0, 'granted', 'k', 'agent:a', 'h', 1, null, '{}')",
          "create or replace function holdfast.now_ms() returns bigint language sql as 'select 0::bigint'",
          "create table holdfast.mine (a int)",
        ])
          await expect(administer(asRole(url, role), statement), `${role}: ${statement}`).rejects.toMatchObject({
            code: "42501",
          });
      }
      for (const look of ["select holdfast.inspect('k')", "select holdfast.waiting()"]) {
        await expect(administer(asRole(url, "hf_stranger"), look)).rejects.toMatchObject({ code: "42501" });
        await administer(asRole(url, "hf_agent"), look);
      }
    });

    it("only holdfast_admin raises a fence, and only in the name of a person", async () => {
      const url = await newPostgresStore(server);
      const raise = (owner: string) => `select holdfast.raise_fence('k', 5, '${owner}')`;
      for (const role of ["hf_agent", "hf_stranger"])
        await expect(administer(asRole(url, role), raise("user:ann"))).rejects.toMatchObject({ code: "42501" });
      await expect(administer(asRole(url, "hf_boss"), raise("agent:a"))).rejects.toThrow("E_FORBIDDEN");
      await administer(asRole(url, "hf_boss"), raise("user:ann"));
    });

    it("PUB-2: holdfast_user publishes and settles, and does not touch the record by hand", async () => {
      const url = await newPostgresStore(server);
      const place = mkdtempSync(join(tmpdir(), "holdfast-roles-"));
      onTestFinished(() => rmSync(place, { recursive: true, force: true }));
      const agent = await openHoldfast({ store: asRole(url, "hf_agent"), owner: "agent:a", heart: "loop" });
      onTestFinished(() => agent.close());
      const { manifest } = await publish({ holdfast: agent, key: "site" }, join(place, "out"), (stage) =>
        stage.write("a", "b"),
      );
      expect(manifest.state).toBe("committed");
      expect(await verifyManifests(agent)).toMatchObject({ ok: true, files: 1 });
      expect(await settleUnfinished(agent)).toEqual([]);
      for (const statement of ["select * from holdfast.manifests", "delete from holdfast.manifest_files"])
        await expect(administer(asRole(url, "hf_agent"), statement)).rejects.toMatchObject({ code: "42501" });
    });

    it("LOCK-4: nothing that a user may call reveals the hash by which a token is known", async () => {
      const url = await newPostgresStore(server);
      await administer(url, "select holdfast.acquire('{k}', 'agent:a')");
      const [secret] = await administer<{ token_hash: string }>(url, "select token_hash from holdfast.grants");
      for (const look of [
        "inspect('k')",
        "list()",
        "audit('k')",
        "verify('k', (holdfast.inspect('k') ->> 'fencing_token')::bigint)",
      ]) {
        const [row] = await administer<{ told: string }>(
          asRole(url, "hf_agent"),
          `select holdfast.${look}::text as told`,
        );
        expect(row?.told).toContain("agent:a");
        expect(row?.told).not.toContain(secret?.token_hash ?? "?");
      }
    });

    it("STORE-4: a function of a caller's own does not get in the way of ours", async () => {
      const url = await newPostgresStore(server);
      const [row] = await administer<{ kind: string }>(
        asRole(url, "hf_agent"),
        "create function pg_temp.sha256(bytea) returns bytea language sql as $$ select 'x'::bytea $$",
        "create temp table grants (resource text)",
        "create temp table trees (tree text)",
        "set search_path = pg_temp, public",
        "select holdfast.acquire('{k}', 'agent:a') ->> 'kind' as kind",
      );
      expect(row?.kind).toBe("granted");
      const [verdict] = await administer<{ ok: boolean }>(
        url,
        "select (holdfast.audit_verify() ->> 'ok')::boolean as ok",
      );
      expect(verdict?.ok).toBe(true);
    });
  },
);
