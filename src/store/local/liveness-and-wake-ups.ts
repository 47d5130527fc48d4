/**
 * Defines what a store on one machine needs from outside: a way to decide whether a holder lives, and a way to wake a
 * waiter. File and SQLite share one implementation (a folder of proof files), memory has its own.
 */
import type { Origin } from "../../base/boot.js";
import { type Proof, seenAt, type Ticket } from "../../lock/grant.js";
import type { Witness } from "../../lock/profile.js";
import type { Settings } from "../../lock/settings.js";
import { openInheritableProof } from "../../platform/liveness/inheritable-proof.js";
import { KnownProofs, type ProofFile } from "../../platform/liveness/known-proofs.js";
import { lifeBehind } from "../../platform/liveness/liveness.js";
import {
  openProofOfLife,
  type ProofOfLife,
  type ProofState,
  probeLife,
  sweepProofs,
} from "../../platform/liveness/proof-of-life.js";
import { thisMachine } from "../../platform/machine.js";
import type { CommandProof, WakeUps } from "../contract.js";
import { createProofFileWakeUps } from "./proof-file-wake-ups.js";

export interface Waker extends WakeUps {
  /** True when that woke another process. */
  wake(ticket: Ticket): boolean;
  close(): void;
}

export interface Surroundings {
  readonly witness: Witness;
  readonly wakeUps: Waker;
  prove(nonce: string, about: Readonly<Record<string, unknown>>): Proof;
  /** As in `Abilities`. */
  readonly commandsInherit: boolean;
  proveForCommand(nonce: string, about: Readonly<Record<string, unknown>>): CommandProof;
  close(keepsProofs: boolean): void;
}

/**
 * A proof of death is kept until every lease its process can have had is over; then it proves nothing that time does not.
 * Only under the profile `strict` does it stay for good.
 */
const OLD_PROOF_MS = 25 * 3_600_000;

/** Looks at the proofs in a folder without opening one for good: for those who examine a store. */
export function lifeByProofs(dir: string): Witness["life"] {
  return (of) => lifeBehind(of, seenAt(of), thisMachine(), (nonce, { file }) => probeLife(dir, nonce, file));
}

/** Surroundings of the stores whose clients are processes of one machine, `here`. `hasActiveJob` is asked inside steps. */
export function openProofFolder(
  dir: string,
  settings: Settings,
  here: Origin,
  hasActiveJob: Witness["hasActiveJob"] = () => false,
  tidies = true,
): Surroundings {
  if (tidies && !Object.values(settings.profiles).includes("strict")) sweepProofs(dir, OLD_PROOF_MS);
  const proofs = new Map<string, ProofOfLife>();
  // A process that meets no other needs neither.
  let others: KnownProofs | null = null;
  let wakeUps: Waker | null = null;
  const knownProofs = (): KnownProofs => {
    others ??= new KnownProofs(dir);
    return others;
  };
  const probe = (nonce: string, proof: ProofFile): ProofState =>
    proofs.has(nonce) ? "alive" : knownProofs().life(nonce, proof);
  return {
    witness: { life: (of) => lifeBehind(of, seenAt(of), here, probe), hasActiveJob },
    get wakeUps() {
      wakeUps ??= createProofFileWakeUps(dir, knownProofs());
      return wakeUps;
    },
    prove(nonce, about) {
      const proof = proofs.get(nonce) ?? openProofOfLife(dir, nonce, about);
      proofs.set(nonce, proof);
      return { kind: "file", file: proof.identity, inherited: false };
    },
    commandsInherit: true,
    proveForCommand(nonce, about) {
      const proof = openInheritableProof(dir, nonce, about);
      proofs.set(nonce, proof);
      const { identity: file, descriptor, handOver, isInherited } = proof;
      return { proof: { kind: "file", file, inherited: true }, descriptor, handOver, isInherited };
    },
    close(keepsProofs) {
      wakeUps?.close();
      others?.close();
      for (const proof of proofs.values()) proof.close(keepsProofs);
      proofs.clear();
    },
  };
}
