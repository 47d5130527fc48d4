/** Real kills, with SIGKILL, of processes that publish; a slice of the operations. */
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scratchFolder } from "../../fixtures/crash/crash-sweep.fixture.js";
import { inParallel } from "../../fixtures/crash/kill.fixture.js";
import { named } from "../../fixtures/publish/crash-sweep.fixture.js";
import { expectSettled, removeScene, type Scene, sceneAt } from "../../fixtures/publish/publish.fixture.js";

const CHILD = fileURLToPath(new URL("./killed-publisher.fixture.mjs", import.meta.url));
let base: string;

beforeAll(() => {
  base = scratchFolder();
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

interface Told {
  readonly told: string;
  readonly count: number;
}

function killAt({ store, dir }: Scene, at: number, when: string): Promise<Told | null> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [CHILD, store, dir, "new", String(at), when], (error, stdout, stderr) => {
      if (error?.signal !== "SIGKILL") reject(new Error(`it was not killed: ${stderr}`, { cause: error }));
      else resolve(stdout.trim() === "" ? null : JSON.parse(stdout));
    });
  });
}

describe("PUB-3: a killed publisher leaves the old tree or the new one", () => {
  it.each(["sqlite", "file", "postgres"] as const)("%s", async (kind) => {
    const whole = await sceneAt(join(base, `${kind}-whole`), kind);
    const { count = 0 } = (await killAt(whole, 0, "before")) ?? {};
    expect(count).toBeGreaterThan(20);
    await expectSettled(whole, ["new"]);
    const every = Math.ceil(count / (kind === "postgres" ? 4 : 8));
    const points = Array.from({ length: count }, (_, index) => index + 1).filter((at) => at % every === 1);
    // On the server all scenes are of one store, and use the same key.
    await inParallel(points, kind === "postgres" ? 1 : 2, async (at) => {
      const when = at % 2 === 0 ? "before" : "after";
      await named(`${kind}, ${when} ${at} of ${count}`, async () => {
        const scene = await sceneAt(join(base, `${kind}-${at}`), kind);
        const told = await killAt(scene, at, when);
        await expectSettled(scene, told === null ? [null, "new"] : ["new"]);
        removeScene(scene);
      });
    });
  });
});
