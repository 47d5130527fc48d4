/**
 * The keys that Holdfast itself builds: a tree, or a kind with its colon, before a name. Code that builds or recognizes
 * such a key uses the constant. A program may lock these keys too; it then meets the feature that owns them.
 *
 * SQL has its own texts (`store/postgres/sql`); a test compares them with this table.
 */
import type { Profile } from "./grant.js";

export const PATH_TREE = "path";

/** Whether the key names a file: of the main worktree, of a linked one, or of a further workspace of the store. */
export function isFileKey(key: string): boolean {
  return key === PATH_TREE || key.startsWith(`${PATH_TREE}/`) || key.startsWith(`${PATH_TREE}@`);
}

/** One tree for all lenders: trees stay, and runs come and go. */
export const LENT_TREE = "lent:files";
export const ISSUE = "issue:";
export const RUNTIME = "runtime:";
export const WORKTREE = "worktree:";
export const SNAPSHOT = "snapshot:";
export const DELIVERABLE = "deliverable:";
export const JOBS_TREE = "jobs";
export const APPROVAL_TREE = "approval";
export const POLICY_TREE = "policy";

interface ReservedKind {
  readonly key: string;
  /** The room or feature that builds the keys. */
  readonly owner: string;
  /** In the default settings; a store may have others on record. */
  readonly profile: Profile;
  readonly purpose: string;
}

/** Each row by the text with which its keys begin. */
export const RESERVED_KINDS: Readonly<Record<string, ReservedKind>> = {
  [PATH_TREE]: {
    key: "path/FILE",
    owner: "client",
    profile: "default",
    purpose: "Names a file or folder of the workspace by its path from the root; `path` itself is the root.",
  },
  [`${PATH_TREE}@`]: {
    key: "path@SCOPE/FILE",
    owner: "client",
    profile: "default",
    purpose: "Names a file of a linked worktree, or of a further workspace of the store, by its path from the root.",
  },
  [LENT_TREE]: {
    key: "lent:files/LENDER/FILE",
    owner: "agents/run",
    profile: "default",
    purpose: "Names a file that one agent run holds and lends to those who work for it.",
  },
  [ISSUE]: {
    key: "issue:ID",
    owner: "board",
    profile: "default",
    purpose: "Is held as the claim on an issue of the board.",
  },
  [RUNTIME]: {
    key: "runtime:NAME",
    owner: "runtime",
    profile: "default",
    purpose: "Is held as a named lock: by a name instead of a process.",
  },
  [WORKTREE]: {
    key: "worktree:NAME",
    owner: "worktree",
    profile: "lease",
    purpose: "Gives the right to change a worktree; `/restore` below it is held until a restore is settled.",
  },
  [SNAPSHOT]: {
    key: "snapshot:NAME",
    owner: "worktree",
    profile: "default",
    purpose: "Is held while a snapshot of a shared worktree is published.",
  },
  [DELIVERABLE]: {
    key: "deliverable:ID",
    owner: "deliverable",
    profile: "default",
    purpose: "Is held with the path of a deliverable folder while its `_LOCK.json` stands.",
  },
  [JOBS_TREE]: {
    key: "jobs/NUMBER",
    owner: "jobs",
    profile: "default",
    purpose: "Names a job in the audit trail; the fencing tokens of slots come from this tree.",
  },
  [APPROVAL_TREE]: {
    key: "approval/OPERATION/KIND:ID",
    owner: "policy",
    profile: "default",
    purpose: "Is held as a person's approval of an operation that cannot be undone.",
  },
  [POLICY_TREE]: {
    key: "policy",
    owner: "policy",
    profile: "default",
    purpose: "Names the refusals of the policy in the audit trail; Holdfast never locks it.",
  },
};
