/** Lists the findings of the doctor by code. A test compares the runbook with this table: every code has its line there. */

type Severity = "error" | "warning" | "info";

interface FindingFacts {
  readonly category: "workspace" | "store" | "file-system" | "locks" | "audit" | "publishes" | "snapshots" | "board";
  readonly severity: Severity;
  /** What it means, whatever the particulars. */
  readonly meaning: string;
}

export const FINDINGS = {
  CONFIG_INVALID: {
    category: "workspace",
    severity: "error",
    meaning: "The configuration of the workspace cannot be used.",
  },
  SETTINGS_DISAGREE: {
    category: "workspace",
    severity: "error",
    meaning: "The configuration contradicts what the store has on record.",
  },
  WORKSPACE_NESTED: {
    category: "workspace",
    severity: "warning",
    meaning: "A workspace lies inside another one; its files are not locked in the outer one.",
  },
  WORKTREE_RECORD: {
    category: "workspace",
    severity: "warning",
    meaning: "A linked worktree has the record of a workspace, which counts for nothing there.",
  },
  STORE_MISSING: {
    category: "store",
    severity: "info",
    meaning: "There is no store yet; the first lock makes it.",
  },
  STORE_NOT_EXAMINED: {
    category: "store",
    severity: "info",
    meaning: "The store lives in the memory of a process, so its inside was not looked at.",
  },
  STORE_NEWER: {
    category: "store",
    severity: "error",
    meaning: "The store was written by a newer version of holdfast.",
  },
  STORE_OUTDATED: {
    category: "store",
    severity: "warning",
    meaning: "The functions in the database are not those of this version.",
  },
  STORE_FORGETFUL: {
    category: "store",
    severity: "warning",
    meaning: "The database server does not wait for its disk, so a crash may lose grants that were given.",
  },
  STORE_CLOSED: {
    category: "store",
    severity: "warning",
    meaning: "A role of Holdfast in the database may not call its functions.",
  },
  STORE_READ_ONLY: {
    category: "store",
    severity: "info",
    meaning: "The database server only reads, so a part of the store was not looked at.",
  },
  STORE_UNREADABLE: {
    category: "store",
    severity: "error",
    meaning: "The store, or a part of it, cannot be read.",
  },
  DATABASE_DAMAGED: {
    category: "store",
    severity: "error",
    meaning: "The files of the store are damaged.",
  },
  GUARD_MISSING: {
    category: "store",
    severity: "info",
    meaning: "A guard file is gone; it is made anew at the next step.",
  },
  GUARD_PERMISSIONS: {
    category: "store",
    severity: "warning",
    meaning: "This user may not lock a guard file, or anybody may replace it.",
  },
  RIGHTS_FOR_OTHERS: {
    category: "store",
    severity: "warning",
    meaning: "Users outside the group may open the files that guard the store, and could block it.",
  },
  FILE_SYSTEM_SHARED: {
    category: "file-system",
    severity: "error",
    meaning: "Other machines can write to the store's file system behind this one's locks.",
  },
  STORE_TEMPORARY: {
    category: "file-system",
    severity: "warning",
    meaning: "The store lies in a temporary folder, and the workspace does not.",
  },
  DISK_FULL: {
    category: "file-system",
    severity: "error",
    meaning: "The store's file system has no room, so nothing is granted, renewed or released.",
  },
  RECORD_UNREADABLE: {
    category: "locks",
    severity: "error",
    meaning: "A grant cannot be read, so its key counts as held.",
  },
  RECORD_NEWER: {
    category: "locks",
    severity: "warning",
    meaning: "A grant was written by a newer version; it is left alone.",
  },
  GRANT_RECOVERABLE: {
    category: "locks",
    severity: "warning",
    meaning: "A grant is left whose holder is gone.",
  },
  GRANT_WORKTREE_GONE: {
    category: "locks",
    severity: "info",
    meaning: "Locks are held on files of a linked worktree that is gone.",
  },
  LOCK_FILE_FOREIGN: {
    category: "locks",
    severity: "info",
    meaning: "A `_LOCK.json` in the workspace was written by another program, and locks nothing here.",
  },
  TICKET_STALE: {
    category: "locks",
    severity: "info",
    meaning: "A place in line is left that nobody stands in.",
  },
  PROOF_ORPHAN: {
    category: "locks",
    severity: "info",
    meaning: "Proofs of life are left of processes that are dead and hold nothing.",
  },
  TOKEN_ORPHAN: {
    category: "locks",
    severity: "info",
    meaning: "A lease token is kept for this user that opens no grant.",
  },
  AUDIT_BROKEN: {
    category: "audit",
    severity: "error",
    meaning: "An audit chain is not as it was written.",
  },
  PUBLISH_LEFT: {
    category: "publishes",
    severity: "warning",
    meaning: "A publish was not finished; what is visible is the old state or the new one.",
  },
  STAGE_LEFT: {
    category: "publishes",
    severity: "info",
    meaning: "A publish has ended, or a power cut took its record, and something of its stage still lies about.",
  },
  SNAPSHOT_ORPHAN: {
    category: "snapshots",
    severity: "warning",
    meaning: "A snapshot or restore was never finished, and what it left is still there.",
  },
  RESTORE_INTERRUPTED: {
    category: "snapshots",
    severity: "error",
    meaning: "A restore in place is not settled, so nobody gets the lock of its worktree.",
  },
  SNAPSHOT_DAMAGED: {
    category: "snapshots",
    severity: "error",
    meaning: "A snapshot or the record of a worktree is not whole: partial, or a part or a parent missing.",
  },
  WORKTREE_FOLDER_GONE: {
    category: "snapshots",
    severity: "warning",
    meaning: "The folder of a worktree is gone; its snapshots are whole.",
  },
  BOARD_UNSETTLED: {
    category: "board",
    severity: "info",
    meaning: "A change of the board is in its journal and not yet in its files; nothing is lost.",
  },
  BOARD_QUARANTINED: {
    category: "board",
    severity: "warning",
    meaning: "A file of the board could not be read and was put aside, with all it held.",
  },
  BOARD_UNREADABLE: {
    category: "board",
    severity: "error",
    meaning: "A file of the board cannot be read.",
  },
  BOARD_NEWER: {
    category: "board",
    severity: "warning",
    meaning: "A file of the board was written by a newer version; it is left alone.",
  },
  BOARD_INDEX_WRONG: {
    category: "board",
    severity: "warning",
    meaning: "The index of the board is missing, or does not show the issues as they are.",
  },
} as const satisfies Record<string, FindingFacts>;

export type FindingCode = keyof typeof FINDINGS;

/** As everybody sees it. */
export interface Finding {
  readonly category: string;
  readonly severity: Severity;
  readonly code: FindingCode;
  readonly message: string;
  readonly next: readonly string[];
  /** `--repair` would do something about it. */
  readonly auto_safe: boolean;
}
