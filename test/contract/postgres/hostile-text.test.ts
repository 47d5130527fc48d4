import { beforeAll, describe, expect, it } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { EMPTY_CHAIN, follow } from "../../../src/lock/audit.js";
import type { Key } from "../../../src/lock/key.js";
import { createSystemClock } from "../../../src/platform/clock.js";
import { openPostgresStore } from "../../../src/store/postgres/open.js";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

const NASTY = [
  `'; drop schema holdfast cascade; --`,
  `"},"hash":"0"}`,
  `$$; select 1; $$`,
  `\\'; truncate holdfast.audit; --`,
  `line\nbreak\ttab \u0001 \u007f \u2028 é 漢 🦊`,
  "{}",
  "null null",
  "%s %I $1",
];

const literal = (text: string): string => `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

describe("hostile text", () => {
  it("STORE-4: in owners, holders, metadata and reasons it is only text, and the chain stays whole", async () => {
    const url = await newPostgresStore(server);
    const holdfast = await openHoldfast({ store: url, owner: "user:o'Brien\"\\$$;--", heart: "loop" });
    for (const [at, text] of NASTY.entries()) {
      const lease = await holdfast.acquire(`t/${at}`, {
        metadata: { [text]: text, deep: [{ text }], nul: "\u0000", half: "\ud800" },
      });
      expect(lease.grants[0]?.metadata).toEqual({ [text]: text, deep: [{ text }], nul: "\u0000", half: "\ud800" });
      await holdfast.break(`t/${at}`, { reason: `because ${text}` });
    }
    const broken = await holdfast.audit.list({ event: "broken" });
    expect(broken.map((entry) => entry.details.reason)).toEqual(NASTY.map((text) => `because ${text}`));
    expect(await holdfast.audit.verify()).toMatchObject({ ok: true, bad: [] });
    await holdfast.close();
  });

  it("STORE-4: in keys, owners, modes and ids it is refused before anything is written", async () => {
    const url = await newPostgresStore(server);
    for (const text of NASTY) {
      const value = literal(text);
      for (const call of [
        `acquire(array[${value}], 'agent:a')`,
        `acquire('{k}', ${value})`,
        `acquire('{k}', 'agent:a', array[${value}])`,
        `acquire('{k}', 'agent:a', lock_ids => array[${value}])`,
        `acquire('{k}', 'agent:a', nonce => ${value})`,
        `inspect(${value})`,
        `lease_acquire(${value}, 'A', 5)`,
      ])
        await expect(administer(url, `select holdfast.${call}`), call).rejects.toMatchObject({ code: "HF007" });
      if (text !== "{}")
        await expect(
          administer(url, `select holdfast.acquire('{k}', 'agent:a', metadata => ${value})`),
        ).rejects.toMatchObject({ code: "HF007" });
    }
    const [counts] = await administer(
      url,
      "select (select count(*) from holdfast.grants) + (select count(*) from holdfast.trees) as n",
    );
    expect(counts).toEqual({ n: "0" });
  });

  it("AUDIT-2: the chain that the server hashes is the one that this library follows", async () => {
    const url = await newPostgresStore(server);
    const store = await openPostgresStore(url, {}, createSystemClock());
    const holdfast = await openHoldfast({ store: url, owner: "user:ann", heart: "loop" });
    for (const text of NASTY) await (await holdfast.acquire("t/x", { metadata: { text } })).release();
    await holdfast.acquire("t/x");
    await holdfast.break("t/x", { reason: NASTY.join(" ") });
    const rows = await administer<{ audit: string }>(url, "select holdfast.audit('t') as audit");
    let head = EMPTY_CHAIN;
    for (const { audit } of rows) {
      const next = follow(head, audit);
      expect(next, audit).not.toBeNull();
      head = next ?? head;
    }
    expect(head.seq).toBe((await store.reader.auditHeads()).get("t" as Key));
    await holdfast.close();
    await store.close();
  });
});
