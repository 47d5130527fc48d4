import { copyFileSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KnownProofs } from "../../../src/platform/liveness/known-proofs.js";
import {
  newNonce,
  openProofOfLife,
  type ProofOfLife,
  WAKE_BYTE_AT,
} from "../../../src/platform/liveness/proof-of-life.js";
import { startProving } from "./proving-process.fixture.js";

let dir: string;
let known: KnownProofs;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-known-"));
  known = new KnownProofs(dir);
});
afterEach(() => {
  known.close();
  rmSync(dir, { recursive: true, force: true });
});

const prove = (): ProofOfLife => openProofOfLife(dir, newNonce(), {});
const lifeOf = ({ nonce, identity }: Pick<ProofOfLife, "nonce" | "identity">) =>
  known.life(nonce, { file: identity, inherited: false });

describe("proofs kept open", () => {
  it("STALE-2: a killed process is dead at once, also to one who has looked before; a stopped one lives", async () => {
    const process = await startProving(dir);
    expect([lifeOf(process), lifeOf(process)]).toEqual(["alive", "alive"]);
    await process.kill("SIGSTOP");
    expect(lifeOf(process)).toBe("alive");
    await process.kill("SIGKILL");
    expect([lifeOf(process), lifeOf(process)]).toEqual(["dead", "dead"]);
  });

  // kills: known-proof
  it("STALE-2: one that was given up proves nothing, though its file is still open here", () => {
    const proof = prove();
    expect(lifeOf(proof)).toBe("alive");
    proof.close();
    expect(lifeOf(proof)).toBe("gone");
  });

  it("STALE-2: another file of that name proves nothing, and the right one still does under any name", () => {
    const proof = prove();
    copyFileSync(proof.path, `${proof.path}.copy`);
    renameSync(proof.path, `${proof.path}.moved`);
    renameSync(`${proof.path}.copy`, proof.path);
    expect(lifeOf(proof)).toBe("gone");
    renameSync(`${proof.path}.moved`, proof.path);
    expect(lifeOf(proof)).toBe("alive");
    rmSync(proof.path);
    expect(lifeOf(proof)).toBe("alive");
    proof.close();
  });

  it("LOCK-12: whoever is to be woken finds its byte written; one that is gone is not told", () => {
    const proof = prove();
    const before = readFileSync(proof.path);
    expect(known.wake(proof.nonce, { file: proof.identity, inherited: false })).toBe(true);
    expect(readFileSync(proof.path)).toEqual(before);
    expect(before[WAKE_BYTE_AT]).toBe("\n".charCodeAt(0));
    expect(known.wake(newNonce(), { file: "1:2:3", inherited: false })).toBe(false);
    proof.close();
  });

  it.runIf(process.platform === "linux")("STORE-6: however many are looked at, few stay open (needs Linux)", () => {
    const open = () => readdirSync("/proc/self/fd").length;
    const proofs = Array.from({ length: 150 }, prove);
    const before = open();
    for (const proof of proofs) expect(lifeOf(proof)).toBe("alive");
    expect(open() - before).toBeLessThanOrEqual(64);
    for (const proof of proofs) proof.close();
  });

  it.runIf(process.platform === "linux")(
    "RUN-1: one that a command inherits is not kept open by others (needs Linux)",
    () => {
      const open = () => readdirSync("/proc/self/fd").length;
      const proof = prove();
      const before = open();
      const inherited = { file: proof.identity, inherited: true };
      expect(known.life(proof.nonce, inherited)).toBe("alive");
      expect(known.wake(proof.nonce, inherited)).toBe(true);
      expect(open()).toBe(before);
      proof.close();
    },
  );
});
