/** The build as a program meets it that is given to Node as text. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-program-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Its exit code and what it said. */
function run(program: string, ending = "await holdfast.close();"): readonly unknown[] {
  const library = new URL("../../../dist/index.js", import.meta.url).href;
  const text = `
    import { readFileSync } from "node:fs";
    import { openHoldfast } from ${JSON.stringify(library)};
    const dir = ${JSON.stringify(dir)};
    const holdfast = await openHoldfast({ store: "file:" + dir, owner: "agent:a", heartbeat: 50 });
    ${program}
    ${ending}
  `;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", text], {
    timeout: 10_000,
  });
  return [status, stdout.toString(), stderr.toString()];
}

describe("a program", () => {
  it("LIB-1: is not warned of a leak however many wait in it", () => {
    const outcome = run(`
      await holdfast.acquire("key");
      await Promise.allSettled(Array.from({ length: 12 }, () => holdfast.acquire("key", { wait: 20 })));
    `);
    expect(outcome).toEqual([0, "", ""]);
  });

  // kills: heart-keeps-program (holds nothing any more)
  it.each([
    ["holds nothing any more", `await holdfast.withLock("key", {}, () => undefined);`],
    ["still holds a lock", `await holdfast.acquire("key");`],
    [
      "has waited in line",
      `const lease = await holdfast.acquire("key");
       const second = holdfast.acquire("key");
       await lease.release();
       await second;`,
    ],
  ])("LIB-1: that forgets to close comes to an end all the same when it %s", (_, program) => {
    expect(run(program, "")).toEqual([0, "", ""]);
  });

  it("LOCK-5: that is given as text of a stated type is renewed beside its event loop like any other", () => {
    const outcome = run(`
      await holdfast.acquire("key");
      const isRenewed = () => /"renewals":[1-9]/.test(readFileSync(dir + "/locks/key/tree.json", "utf8"));
      for (const end = Date.now() + 5_000; !isRenewed() && Date.now() < end; );
      console.log(isRenewed());
    `);
    expect(outcome).toEqual([0, "true\n", ""]);
  });
});
