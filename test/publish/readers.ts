/** A reader in a process of its own, in a loop, while the target is published again and again. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { openHoldfast } from "../../src/index.js";
import { publish } from "../../src/publish/index.js";
import { treeOf } from "./world.js";

const READER = fileURLToPath(new URL("../fixtures/publish-reader.mjs", import.meta.url));

/** The reader finds the old tree or the new one every time. */
export async function readThrough(publishes: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "holdfast-readers-"));
  mkdirSync(join(dir, "place"));
  const target = join(dir, "place", "out");
  const holdfast = await openHoldfast({ store: `sqlite:${dir}/holdfast.db`, owner: "agent:publisher" });
  try {
    const lease = await holdfast.acquire("site", { ttl: "10m" });
    await publish(lease, target, treeOf("0"));
    const reader = fork(READER, [target], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    await once(reader, "message");
    let hasMetAnother = false;
    reader.once("message", () => {
      hasMetAnother = true;
    });
    // On a busy machine the reader may sleep through all of them: then there are more.
    for (let at = 1; at <= publishes || !hasMetAnother; at += 1) await publish(lease, target, treeOf(String(at)));
    const told = once(reader, "message");
    reader.send("stop");
    const [counts] = (await told) as [{ reads: number; missing: number; torn: number; versions: number }];
    expect(counts).toMatchObject({ missing: 0, torn: 0 });
    expect(counts.versions).toBeGreaterThan(1);
    await once(reader, "exit");
  } finally {
    await holdfast.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
