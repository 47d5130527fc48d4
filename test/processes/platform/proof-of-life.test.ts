import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  newNonce,
  openProofOfLife,
  probeLife,
  sweepProofs,
  WAKE_BYTE_AT,
} from "../../../src/platform/liveness/proof-of-life.js";
import { startProving } from "./proving-process.fixture.js";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-proof-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function startProcess() {
  const process = await startProving(dir);
  return { ...process, life: () => probeLife(dir, process.nonce, process.identity) };
}

describe("proof of life", () => {
  it("STALE-2: is alive while it is open, in this process as in others", () => {
    const proof = openProofOfLife(dir, newNonce(), { owner: "agent:a" });
    expect(probeLife(dir, proof.nonce, proof.identity)).toBe("alive");
    expect(probeLife(dir, proof.nonce, proof.identity)).toBe("alive");
    expect(JSON.parse(readFileSync(proof.path, "utf8"))).toEqual({ nonce: proof.nonce, owner: "agent:a" });
    expect(statSync(proof.path).size).toBe(WAKE_BYTE_AT + 1);
    proof.close();
  });

  it("STALE-2: given up it is gone, which proves nothing", () => {
    const proof = openProofOfLife(dir, newNonce(), {});
    proof.close();
    proof.close();
    expect(existsSync(proof.path)).toBe(false);
    expect(probeLife(dir, proof.nonce, proof.identity)).toBe("gone");
  });

  it("STALE-2: a killed process is dead at once, a stopped one is not", async () => {
    const process = await startProcess();
    expect(process.life()).toBe("alive");
    await process.kill("SIGSTOP");
    expect(process.life()).toBe("alive");
    await process.kill("SIGKILL");
    expect(process.life()).toBe("dead");
    rmSync(process.path);
    expect(process.life()).toBe("gone");
  });

  it("STALE-2: a file that only looks like it proves nothing: copied, made anew, or another's", () => {
    const proof = openProofOfLife(dir, newNonce(), {});
    const copy = `${proof.path}-copy`;
    copyFileSync(proof.path, copy);
    expect(probeLife(dir, `${proof.nonce}-copy`, proof.identity)).toBe("gone");
    renameSync(copy, proof.path);
    expect(probeLife(dir, proof.nonce, proof.identity)).toBe("gone");
    writeFileSync(join(dir, "another"), "");
    expect(probeLife(dir, "another", proof.identity)).toBe("gone");
    proof.close();
  });

  // kills: proof-denied
  it("a proof that cannot be looked at is of unknown life, not gone", () => {
    const proof = openProofOfLife(dir, newNonce(), {});
    writeFileSync(join(dir, "file"), "");
    expect(probeLife(join(dir, "file"), proof.nonce, proof.identity)).toBe("unknown");
    proof.close();
  });

  it("STALE-2: a nonce is never used twice", () => {
    expect(newNonce()).toMatch(/^[0-9a-f]{24}$/);
    expect(new Set(Array.from({ length: 1_000 }, newNonce)).size).toBe(1_000);
    const proof = openProofOfLife(dir, "n", {});
    expect(() => openProofOfLife(dir, "n", {})).toThrow(expect.objectContaining({ code: "E_IO" }));
    expect(probeLife(dir, "n", proof.identity)).toBe("alive");
    proof.close();
  });

  it("STALE-2: what cannot be created is E_IO naming the path", () => {
    writeFileSync(join(dir, "file"), "");
    expect(() => openProofOfLife(join(dir, "file"), "n", {})).toThrow(
      expect.objectContaining({ code: "E_IO", details: expect.objectContaining({ path: join(dir, "file", "n") }) }),
    );
  });
});

describe("old proofs", () => {
  const longAgo = new Date(Date.now() - 3_600_000);

  it("are removed when their process has been gone for long, in two steps; no other file is touched", async () => {
    const process = await startProcess();
    await process.kill("SIGKILL");
    const alive = openProofOfLife(dir, newNonce(), {});
    const stranger = join(dir, "README");
    closeSync(openSync(stranger, "w"));
    for (const path of [process.path, alive.path, stranger]) utimesSync(path, longAgo, longAgo);

    sweepProofs(dir, 60_000);
    expect(process.life()).toBe("dead");
    sweepProofs(dir, 60_000);
    expect(existsSync(process.path)).toBe(true);

    utimesSync(process.path, longAgo, longAgo);
    sweepProofs(dir, 60_000);
    expect(existsSync(process.path)).toBe(false);
    expect(probeLife(dir, alive.nonce, alive.identity)).toBe("alive");
    expect(existsSync(stranger)).toBe(true);
    alive.close();
  });

  it("of a folder that is not there are none", () => {
    expect(() => sweepProofs(join(dir, "nowhere"), 0)).not.toThrow();
  });
});
