/**
 * The identity of a Holdfast instance in its store: owner, process, and the proof of life, which is made when it is
 * first needed.
 */

import { invalidArgument } from "../base/errors.js";
import type { Proof } from "../lock/grant.js";
import { hashLeaseToken, newLeaseToken } from "../lock/lease-token.js";
import { newNonce } from "../platform/liveness/proof-of-life.js";
import { holderIdOf, pidNamespace, startTimeOf, thisMachine } from "../platform/machine.js";
import type { CommandProof, Party, Store } from "../store/contract.js";

export class Identity {
  readonly owner: string;
  readonly #store: Store;
  readonly #nonce = newNonce();
  readonly #runsCommand: boolean;
  #party: Party | null = null;
  #commandProof: CommandProof | null = null;

  /** With `runsCommand` what is held here lasts as long as the command that inherits its proof. */
  constructor(store: Store, owner: string, runsCommand = false) {
    this.#store = store;
    this.owner = owner;
    this.#runsCommand = runsCommand;
  }

  get party(): Party {
    this.#party ??= { owner: this.owner, holderId: holderId(), nonce: this.#nonce, proof: this.#prove() };
    return this.#party;
  }

  /** What the command is to inherit; null where the store has no such thing. */
  get commandProof(): CommandProof | null {
    return this.party && this.#commandProof;
  }

  #prove(): Proof {
    const about = { owner: this.owner, holder_id: holderId() };
    if (this.#runsCommand && this.#store.abilities.commandsInherit)
      this.#commandProof = this.#store.proveForCommand(this.#nonce, about);
    return this.#commandProof?.proof ?? this.#store.prove(this.#nonce, about);
  }

  /** A detached grant is not this process's: nothing of it proves life, unless it is bound to another process. */
  partyFor({ detached, pid }: { readonly detached: boolean; readonly pid: number | null }): Party {
    const own = this.party;
    if (!detached) return own;
    const proof: Proof = { kind: "none" };
    if (pid === null) return { ...own, proof };
    const startTime = startTimeOf(pid);
    if (startTime === null) throw invalidArgument("pid", `there is no process ${pid}`);
    const { bootId } = thisMachine();
    const bound: Proof = { kind: "pid", pid, startTime, pidNamespace: pidNamespace(), bootId };
    return { ...own, holderId: holderIdOf(pid), proof: bound };
  }
}

let ownHolderId: string | undefined;
function holderId(): string {
  ownHolderId ??= holderIdOf();
  return ownHolderId;
}

/** A lease token, and the hash of it that stores keep. */
export function newToken(): { readonly token: string; readonly hash: string } {
  const token = newLeaseToken();
  return { token, hash: hashLeaseToken(token) };
}
