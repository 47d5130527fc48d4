import assert from "node:assert/strict";
import { MODES } from "../../../src/index.js";
import { isFree } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** Held (row) beside asked for (column), in the order read, upgradeable, write. */
const SIDE_BY_SIDE = {
  read: [true, true, false],
  upgradeable: [true, false, false],
  write: [false, false, false],
} as const;

/** Who may stand beside whom on one key. */
export const modes: Chapter = {
  // kills: two-upgradeables (memory)
  async "LOCK-2: the matrix of modes on one key"(bench) {
    const [a, b] = await bench.two();
    for (const held of MODES) {
      const lease = await a.acquire("k", { mode: held });
      assert.equal(lease.mode, held);
      for (const [at, asked] of MODES.entries())
        assert.equal(await isFree(b, "k", { mode: asked }), SIDE_BY_SIDE[held][at], `${asked} beside ${held}`);
      await lease.release();
    }
  },

  async "LOCK-2: many readers and one upgradeable stand together, and a writer waits for the last of them"(bench) {
    const clients = await bench.many(6);
    const readers = await Promise.all(clients.slice(0, 4).map((client) => client.acquire("k", { mode: "read" })));
    const [, , , , fifth, writer] = clients;
    assert.ok(fifth && writer);
    readers.push(await fifth.acquire("k", { mode: "upgradeable", wait: 0 }));
    for (const reader of readers) {
      assert.equal(await isFree(writer, "k"), false);
      await reader.release();
    }
    assert.equal(await isFree(writer, "k"), true);
  },

  async "LOCK-2: write is what one gets without asking for a mode"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("k");
    assert.equal(lease.mode, "write");
    assert.equal(await isFree(b, "k", { mode: "read" }), false);
  },
};
