import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Clock, createSystemClock } from "../../../src/platform/clock.js";
import type { Party } from "../../../src/store/contract.js";
import { openStore } from "../../../src/store/open.js";
import { acquireRequest } from "../../fixtures/store/acquire-request.fixture.js";

const here = createSystemClock();
/** Another machine: nothing of it is this one's. */
const elsewhere: Clock = () => ({ ...here(), bootId: "boot-elsewhere", machineId: "machine-elsewhere" });
/** This machine before its last restart. */
const before: Clock = () => ({ ...here(), bootId: "boot-before" });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-machine-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function leaveHeld(url: string, clock: Clock, leaseMs: number): Promise<void> {
  const store = await openStore(url, {}, clock);
  const party: Party = { owner: "agent:a", holderId: "there:a:1:1", nonce: "n", proof: store.prove("n", {}) };
  await store.locks.acquire(acquireRequest("elsewhere/held", { party, leaseMs }));
  await store.close();
}

describe.each(["file", "sqlite"])("one machine (%s)", (scheme) => {
  const url = (): string => (scheme === "file" ? `file:${folder}` : `sqlite:${join(folder, "locks.db")}`);

  it("STORE-2, STORE-3: refuses to work beside a live grant of another machine", async () => {
    await leaveHeld(url(), elsewhere, 60_000);
    await expect(openStore(url(), {}, here)).rejects.toMatchObject({ code: "E_CONFIG" });
  });

  it("STORE-2, STORE-3: takes the store over once nothing there is held any more", async () => {
    await leaveHeld(url(), () => ({ ...elsewhere(), wallMs: here().wallMs - 600_000 }), 1_000);
    await (await openStore(url(), {}, here)).close();
  });

  it("STORE-2, STORE-3: its own grants from before a restart are no other machine's", async () => {
    await leaveHeld(url(), before, 60_000);
    await (await openStore(url(), {}, here)).close();
  });
});
