import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openInheritableProof } from "../../src/support/inheritable-proof.js";
import { newNonce, probeLife } from "../../src/support/proof-of-life.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-proof-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("a proof of life that is inherited", () => {
  it("STALE-2 is alive while its maker or an heir is, and its maker can tell the two apart", async () => {
    const proof = openInheritableProof(dir, newNonce(), {});
    const life = () => probeLife(dir, proof.nonce, proof.identity);
    expect([life(), proof.isInherited()]).toEqual(["alive", true]);
    const heir = spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "ignore", proof.descriptor] });
    await once(heir, "spawn");
    proof.handOver(heir.pid ?? 0, false);
    expect([life(), proof.isInherited()]).toEqual(["alive", true]);
    const ended = once(heir, "exit");
    heir.kill("SIGKILL");
    await ended;
    expect([life(), proof.isInherited()]).toEqual(["alive", false]);
    proof.close();
    expect(life()).toBe("unknown");
  });

  it("RUN-1 is dead once its maker and its heirs are, whoever went first", async () => {
    const program = `
      import { spawn } from "node:child_process";
      import { openInheritableProof } from ${JSON.stringify(new URL("../../dist/support/inheritable-proof.js", import.meta.url).href)};
      const proof = openInheritableProof(${JSON.stringify(dir)}, "ab".repeat(12), {});
      const heir = spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "ignore", proof.descriptor] });
      proof.handOver(heir.pid, false);
      console.log(heir.pid + " " + proof.identity);
      setInterval(() => undefined, 1000);`;
    const maker = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = (await once(maker.stdout, "data")) as [Buffer];
    const [pid, identity = ""] = text.toString().trim().split(" ");
    const life = () => probeLife(dir, "ab".repeat(12), identity);
    const ended = once(maker, "exit");
    maker.kill("SIGKILL");
    await ended;
    expect(life()).toBe("alive");
    process.kill(Number(pid), "SIGKILL");
    await expect.poll(life, { timeout: 120_000 }).toBe("dead");
  });
});
