/** Arguments and flags that commands of several groups have in common. Loads at every start. */
import type { ArgumentSpec, FlagSpec } from "../command.js";

export const ISSUE = { help: "the issue, such as 42" } as const satisfies ArgumentSpec;
export const GATE = { help: "the gate's name" } as const satisfies ArgumentSpec;

export const CLAIM_TOKEN = {
  type: "text",
  help: "the lease token of your claim; else HOLDFAST_LEASE_TOKEN, else the one kept for you",
} as const satisfies FlagSpec;

export const GATE_WAIT = { type: "duration", help: "how long at most; default 10m" } as const satisfies FlagSpec;

export const WORKTREE_TOKEN = {
  type: "text",
  help: "the lease token of the worktree's lock; else HOLDFAST_LEASE_TOKEN, else the one kept for you",
} as const satisfies FlagSpec;

export const WORKTREE_WAIT = {
  type: "duration",
  help: "how long to wait for the lock when you hold none; default 0",
} as const satisfies FlagSpec;
