import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lifeOfCommand } from "../../../src/platform/liveness/command-mark.js";
import { openInheritableProof } from "../../../src/platform/liveness/inheritable-proof.js";
import { KnownProofs } from "../../../src/platform/liveness/known-proofs.js";
import { lifeOfFile, newNonce, probeLife, sweepProofs } from "../../../src/platform/liveness/proof-of-life.js";
import { pidNamespace, startTimeOf, thisMachine } from "../../../src/platform/machine.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-proof-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** What the program prints, as JSON. */
function runWithFewDescriptors(program: string): unknown {
  const args = ["-c", 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, program];
  return JSON.parse(spawnSync("sh", args, { encoding: "utf8" }).stdout);
}

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
    expect(life()).toBe("gone");
  });

  // kills: command-mark-in-bytes
  it.each([
    ["a plain owner", "user:joerg"],
    ["an owner in any script", "user:jörg"],
    ["an owner as long as can be", `user:${"ö".repeat(195)}`],
  ])("RUN-1 of %s names the command to whoever finds nobody with it open", async (_, owner) => {
    const proof = openInheritableProof(dir, newNonce(), { owner, holder_id: "host:jörg:1:1" });
    const heir = spawn("sleep", ["1000"], { stdio: "ignore" });
    await once(heir, "spawn");
    proof.handOver(heir.pid ?? 0, false);
    const others = new KnownProofs(dir);
    expect(others.wake(proof.nonce, { file: proof.identity, inherited: true })).toBe(true);
    others.close();
    expect(lifeOfCommand(proof.path)).toBe("alive");
    const [about = ""] = readFileSync(proof.path, "utf8").split("\n");
    expect(JSON.parse(about)).toMatchObject({ nonce: proof.nonce, holder_id: "host:jörg:1:1" });
    const ended = once(heir, "exit");
    heir.kill("SIGKILL");
    await ended;
    expect(lifeOfCommand(proof.path)).toBe("dead");
    proof.close();
  });

  // kills: command-elsewhere
  it("STALE-2 is of unknown life where the pid of its command means nothing, and is not swept there", () => {
    const path = join(dir, newNonce());
    const named = (pid_namespace: string) => {
      const mark = {
        pid: 2 ** 22 + 1,
        started_at: 1,
        pid_namespace,
        boot_id: thisMachine().bootId,
        has_own_group: false,
      };
      writeFileSync(path, `${"{}".padEnd(511)}\n${JSON.stringify(mark)}\n`);
      const life = lifeOfFile(path);
      sweepProofs(dir, -60_000);
      return [life, statSync(path).size > 0];
    };
    expect(named("of another container")).toEqual(["unknown", true]);
    expect(named(pidNamespace())).toEqual(["dead", false]);
  });

  // kills: command-before-restart, command-start-grain
  it.each([
    ["alive, read a tick apart", { off: 1 }, "alive"],
    ["another process by now", { off: 2 }, "dead"],
    ["of another boot", { boot_id: "of another boot" }, "dead"],
    ["of an unknown boot", { boot_id: "" }, "alive"],
    ["of an unknown start", { started_at: 0 }, "alive"],
  ] as const)("a command that is %s is judged by boot, pid and start time", (_, change, life) => {
    const path = join(dir, newNonce());
    const { off = 0, ...rest } = { off: 0, ...change };
    const mark = {
      pid: process.pid,
      started_at: Number(startTimeOf(process.pid)) + off,
      pid_namespace: pidNamespace(),
      boot_id: thisMachine().bootId,
      has_own_group: false,
      ...rest,
    };
    writeFileSync(path, `${"{}".padEnd(511)}\n${JSON.stringify(mark)}\n`);
    expect(lifeOfCommand(path)).toBe(life);
  });

  // kills: command-unread
  it("STALE-2 is of unknown life to one who has no descriptor left to look at its command", async () => {
    const proof = openInheritableProof(dir, newNonce(), {});
    const heir = spawn("sleep", ["1000"], { stdio: "ignore" });
    await once(heir, "spawn");
    proof.handOver(heir.pid ?? 0, false);
    proof.close(true);
    const program = `
      import { closeSync, openSync } from "node:fs";
      import { lifeOfFile } from ${JSON.stringify(new URL("../../../dist/platform/liveness/proof-of-life.js", import.meta.url).href)};
      const path = ${JSON.stringify(proof.path)};
      const lives = [lifeOfFile(path)];
      const files = [];
      try {
        for (;;) files.push(openSync(path, "r"));
      } catch {}
      for (const file of files) {
        lives.push(lifeOfFile(path));
        closeSync(file);
      }
      console.log(JSON.stringify([...new Set(lives)]));`;
    const found = runWithFewDescriptors(program);
    heir.kill("SIGKILL");
    expect(found).toEqual(["alive", "unknown"]);
  });

  // kills: heirs-unseen
  it("RUN-1 counts as inherited while its maker has no descriptor left to look", () => {
    const program = `
      import { spawn } from "node:child_process";
      import { closeSync, openSync } from "node:fs";
      import { openInheritableProof } from ${JSON.stringify(new URL("../../../dist/platform/liveness/inheritable-proof.js", import.meta.url).href)};
      const proof = openInheritableProof(${JSON.stringify(dir)}, "ab".repeat(12), {});
      const heir = spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "ignore", proof.descriptor] });
      proof.handOver(heir.pid, false);
      const files = [];
      try {
        for (;;) files.push(openSync(proof.path, "r"));
      } catch {}
      const isInherited = proof.isInherited();
      for (const file of files) closeSync(file);
      heir.kill("SIGKILL");
      heir.once("exit", () => console.log(JSON.stringify([isInherited, proof.isInherited()])));`;
    expect(runWithFewDescriptors(program)).toEqual([true, false]);
  });

  it("RUN-1 is dead once its maker and its heirs are, whoever went first", async () => {
    const program = `
      import { spawn } from "node:child_process";
      import { openInheritableProof } from ${JSON.stringify(new URL("../../../dist/platform/liveness/inheritable-proof.js", import.meta.url).href)};
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
