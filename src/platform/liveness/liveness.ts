/** Decides whether the process behind a record lives, by the proof that the record names. */

import { lifeOfProcess, thisMachine } from "../machine.js";
import type { ProofFile } from "./known-proofs.js";
import type { Life } from "./proof-of-life.js";

interface Recorded {
  readonly nonce: string;
  readonly proof:
    | { readonly kind: "none" }
    | ({ readonly kind: "pid" } & Parameters<typeof lifeOfProcess>[0])
    | ({ readonly kind: "file" } & ProofFile);
}

/** "unknown" wherever nothing can be proven, as of what was seen on another machine. `probe` looks at a proof file. */
export function lifeBehind(
  { nonce, proof }: Recorded,
  seenAt: { readonly bootId: string },
  probe: (nonce: string, proof: ProofFile) => Life,
): Life {
  if (seenAt.bootId !== thisMachine().bootId) return "unknown";
  switch (proof.kind) {
    case "none":
      return "unknown";
    case "pid":
      return lifeOfProcess(proof);
    case "file":
      return probe(nonce, proof);
  }
}
