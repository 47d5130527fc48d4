/**
 * Decides whether the process behind a record lives. The first line that applies decides:
 *
 *   the kernel lock of the holder's own proof file can be had           dead
 *   it cannot be had                                                    alive, whatever the ids of boot and machine say
 *   the file is gone or another one, or the proof is a pid; of this
 *   machine, and of another boot of it for certain                      dead, before the restart
 *   the pid is gone, in the same pid namespace and boot                 dead
 *   the pid is there, and its start time is of another process          dead
 *   anything else, also what may not be looked at                       unknown
 *
 * Two containers on one kernel may have two boot ids and one machine id, or one boot id and two clocks, so an id proves no
 * death that a kernel lock denies. On another machine a lock that can be had proves nothing: its holder's is on another kernel.
 */
import { isBeforeRestart, isElsewhere, isSameBoot, type Origin } from "../../base/boot.js";
import { lifeOfProcess } from "../machine.js";
import type { ProofFile } from "./known-proofs.js";
import type { Life, ProofState } from "./proof-of-life.js";

interface Recorded {
  readonly nonce: string;
  readonly proof:
    | { readonly kind: "none" }
    | ({ readonly kind: "pid"; readonly bootId: string } & Parameters<typeof lifeOfProcess>[0])
    | ({ readonly kind: "file" } & ProofFile);
}

/** `seenAt` is where the record was last written, `here` where it is judged. `probe` looks at a proof file. */
export function lifeBehind(
  { nonce, proof }: Recorded,
  seenAt: Origin,
  here: Origin,
  probe: (nonce: string, proof: ProofFile) => ProofState,
): Life {
  switch (proof.kind) {
    case "none":
      return "unknown";
    case "file": {
      const state = probe(nonce, proof);
      if (state === "gone") return isBeforeRestart(seenAt, here) ? "dead" : "unknown";
      // mutant: lock-of-another-kernel: state === "dead" && isElsewhere(seenAt, here) → state === "dead" && isElsewhere(here, here)
      return state === "dead" && isElsewhere(seenAt, here) ? "unknown" : state;
    }
    case "pid": {
      const { bootId } = proof;
      if (isBeforeRestart({ ...seenAt, bootId }, here)) return "dead";
      // mutant: pid-of-another-boot: isSameBoot(proof, here) ? → isSameBoot(here, here) ?
      return isSameBoot(proof, here) ? lifeOfProcess(proof) : "unknown";
    }
  }
}

/** For records whose proof files are out of reach: a proof by pid decides, and all others are unknown. */
export function lifeByPid(of: Recorded, seenAt: Origin, here: Origin): Life {
  return lifeBehind(of, seenAt, here, () => "unknown");
}
