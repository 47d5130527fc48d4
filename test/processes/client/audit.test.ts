/** The audit trail while several processes write it. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { expectSoundHistory } from "../../fixtures/client/audit-history.fixture.js";
import { Scene, SIDE_BY_SIDE, STORES } from "../../fixtures/client/processes.fixture.js";

describe.each(STORES)("the audit trail (%s)", SIDE_BY_SIDE, (kind) => {
  // kills: audit-snapshot
  it("AUDIT-2: verifying a chain that grows meanwhile finds nothing wrong", async () => {
    await using scene = new Scene(kind);
    const clients = await scene.startMany(3);
    const holdfast = await scene.open();
    const stop = scene.file("stop");
    const writing = Promise.all(
      clients.map((client, at) => client.loop(`tree/${at}`, { holdMs: 0, stop, wait: "1m" })),
    );
    const startedAt = performance.now();
    for (let verified = 0; verified < 5 || performance.now() - startedAt < 2_000; verified += 1) {
      const [verdict, entries] = [await holdfast.audit.verify(), await holdfast.audit.list({ resource: "tree" })];
      expect(verdict).toMatchObject({ ok: true, bad: [] });
      expect(entries.map((entry) => entry.seq)).toEqual(entries.map((_, at) => at + 1));
      await new Promise(setImmediate);
    }
    scene.touch("stop");
    for (const sections of await writing) expect(sections.length).toBeGreaterThan(0);
    await expectSoundHistory(holdfast);
  });
});

describe("the audit trail on disk (file)", () => {
  // kills: audit-chain, audit-snapshot
  it("AUDIT-2: an entry that was rewritten together with a hash of its own breaks the chain behind it", async () => {
    await using scene = new Scene("file");
    const client = await scene.start();
    for (let times = 0; times < 3; times += 1) await (await client.acquire("tree/work")).release();
    const file = scene.storeFile("locks/tree/audit.jsonl");
    const lines = readFileSync(file, "utf8").split("\n");
    const [third = ""] = lines.splice(2, 1);
    const body = third.replace("agent:a", "agent:b").replace(/,"hash":"[0-9a-f]{64}"\}$/, "");
    const hash = createHash("sha256").update(`${body}}`).digest("hex");
    lines.splice(2, 0, `${body},"hash":"${hash}"}`);
    writeFileSync(file, lines.join("\n"));
    expect(await (await scene.open()).audit.verify()).toMatchObject({ ok: false, bad: [{ tree: "tree", seq: 4 }] });
  });
});
