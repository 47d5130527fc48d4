/**
 * The only error class and the only table of error codes. The command, the MCP server, the page and docs/errors.md read
 * the exit code, whether a retry can help, and the next step from this table (a test compares them); none of them
 * repeats these facts.
 */
import { userName } from "./user-name.js";

export interface ErrorFacts {
  readonly meaning: string;
  readonly retryable: boolean;
  /** Exit code of the command line. */
  readonly exit: number;
  /** What to try next when the place that throws has nothing more exact to say. */
  readonly next: string;
  /** The values of `details.reason`, each with its meaning, where the code has them. */
  readonly reasons?: Readonly<Record<string, string>>;
}

export const ERRORS = {
  E_LOCK_CONFLICT: {
    meaning: "Someone else holds the lock, or stands in line for it, and the caller did not want to wait.",
    retryable: true,
    exit: 75,
    next: "Wait for it: give `wait` a duration, or try again after `details.contention.retry_after_ms`.",
  },
  E_LOCK_TIMEOUT: {
    meaning: "The lock was not free, or a transaction not done, within its time limit.",
    retryable: true,
    exit: 75,
    next: "Try again, wait longer, or look at `details.contention` to see who holds it.",
  },
  E_LOCK_EXPIRED: {
    meaning: "The lease ran out, so nothing may be written under it any more.",
    retryable: false,
    exit: 80,
    next: "Acquire again, re-read what you were about to change, then write.",
  },
  E_LOCK_NOT_HELD: {
    meaning: "The caller does not hold this lock: it was released, recovered, stolen or broken, or never taken.",
    retryable: false,
    exit: 81,
    next: "Acquire the lock first.",
  },
  E_LOCK_ORDER: {
    meaning: "Waiting here while holding what is held could deadlock, or a cover would go before what nests in it.",
    retryable: false,
    exit: 85,
    next: "Ask for all keys in one acquire, or release what you hold and take the keys in order.",
  },
  E_FENCING_MISMATCH: {
    meaning: "The fencing token is not the one of a current grant: someone else has taken over.",
    retryable: false,
    exit: 82,
    next: "Stop writing. Acquire again and start from what is there now.",
  },
  E_TOO_MANY_RETRIES: {
    meaning: "An operation failed with retryable errors as often as it was allowed to be tried.",
    retryable: false,
    exit: 75,
    next: "Look at `cause`; try again later, or allow more attempts.",
  },
  E_CONSISTENCY_UNAVAILABLE: {
    meaning: "The content changed while it was read or worked on, so nothing consistent can be published.",
    retryable: true,
    exit: 83,
    next: "Quiet the writers and try again.",
  },
  E_PARTIAL_SNAPSHOT: {
    meaning: "The named snapshot was never completed.",
    retryable: false,
    exit: 84,
    next: "Choose a complete snapshot.",
  },
  E_CROSS_DEVICE: {
    meaning: "Source and target are on different file systems, so the change cannot be one atomic step.",
    retryable: false,
    exit: 74,
    next: "Stage on the file system of the target.",
  },
  E_COMMIT_UNCERTAIN: {
    meaning: "Whether the change was made durable is unknown.",
    retryable: false,
    exit: 87,
    next: "Let recovery settle it, then look at the state before going on.",
  },
  E_REVISION_CONFLICT: {
    meaning: "The document has moved on from the revision the caller expected.",
    retryable: true,
    exit: 88,
    next: "Read it again and apply the change to what is there now.",
  },
  E_CYCLE: {
    meaning: "The dependency would close a cycle.",
    retryable: false,
    exit: 88,
    next: "Remove one of the dependencies the message names.",
  },
  E_GATE_BLOCKED: {
    meaning: "Open gates or dependencies stand in the way.",
    retryable: false,
    exit: 88,
    next: "Settle what the message lists first.",
  },
  E_POLICY_UNKNOWN: {
    meaning: "No rule says which locks this operation needs.",
    retryable: false,
    exit: 86,
    next: "Add the operation to the policy, or use one it knows.",
  },
  E_POLICY_AMBIGUOUS: {
    meaning: "What the operation touches is not stated clearly enough to choose its locks.",
    retryable: false,
    exit: 86,
    next: "State the missing scope.",
  },
  E_FORBIDDEN: {
    meaning: "This kind of owner may not do that.",
    retryable: false,
    exit: 77,
    next: "Ask a person (an owner of kind `user` or `admin`) to do it.",
  },
  E_INVALID_ARGUMENT: {
    meaning: "An argument is malformed; nothing was written.",
    retryable: false,
    exit: 64,
    next: "Correct the argument that `details.field` names.",
  },
  E_NOT_FOUND: {
    meaning: "The named thing does not exist.",
    retryable: false,
    exit: 89,
    next: "Check the name.",
  },
  E_CONFIG: {
    meaning: "The caller's configuration contradicts what the store has recorded, or does not fit this place.",
    retryable: false,
    exit: 78,
    next: "Use the recorded configuration, or change it for everybody.",
    reasons: {
      no_workspace: "The call needs a workspace, and there is none.",
      no_main_worktree: "The repository of a linked worktree cannot be found, so its workspace cannot either.",
      nested_workspace: "The workspace lies inside another one.",
      untrusted_workspace: "Another user made the workspace, in a folder that everyone may write.",
      other_store: "A store is named that is not the one on record for the workspace.",
      other_workspace: "The key names a file of another workspace.",
      relative_path: "A variable of the environment has a relative path.",
      no_store: "There is no store at the place that the configuration names.",
      not_installed: "Something that the command needs is missing: git, its repository, or the hooks of an agent tool.",
      invalid_value: "A setting has a value that is not valid, or a needed one is not set.",
      unknown_field: "The configuration has a field that this version does not know.",
      invalid_file: "A file that Holdfast reads or edits does not have the form that it needs.",
      invalid_store_url:
        "The URL of a store has an unknown scheme, lacks its path, or has a part that is not supported.",
      settings_differ: "The caller states other settings than the store has recorded.",
      key_differs: "The target is published under another key.",
      other_machine: "Another machine uses the store, which is for one machine only.",
      unsupported_store:
        "This kind of store cannot do what was asked: jobs, transactions, or locks across processes or machines.",
      unsupported_file_system: "Locks do not hold on this file system: it is shared, or it fails a probe.",
      unsupported_database: "The encoding, a schema, the isolation level or the version of the database does not fit.",
      outdated_schema: "The store has an older schema and was not migrated.",
      access_denied: "The database server refuses the account or its password.",
    },
  },
  E_STORE_UNAVAILABLE: {
    meaning: "The store cannot be reached or is too busy right now.",
    retryable: true,
    exit: 69,
    next: "Try again; check that the store's place is reachable.",
    reasons: {
      unreachable: "The server cannot be reached, or it ended the connection.",
      busy: "Another process or transaction kept what the step needs for too long.",
      timeout: "The server did not answer, or the step was not done, in time.",
      full: "A limit is reached: open runs, connections, or the disk or memory of the server.",
      closed: "The caller has closed the store, or the server is closing.",
      no_store: "The store that was opened is not there: it was deleted, moved or replaced, or the server has none.",
      read_only: "The server accepts no changes, or the store was opened for reading only.",
      server_error: "The server reported an error that has no reason of its own here.",
    },
  },
  E_STORE_CORRUPT: {
    meaning:
      "The store's own data does not make sense, or the store itself is lost: deleted, moved, emptied or replaced.",
    retryable: false,
    exit: 65,
    next: "Verify the audit chain and restore from a copy if needed; nothing was changed.",
  },
  E_FORMAT_UNSUPPORTED: {
    meaning: "The data was written by a newer version in a format this one does not know.",
    retryable: false,
    exit: 65,
    next: "Update holdfast.",
  },
  E_IO: {
    meaning: "The operating system refused a file operation.",
    retryable: false,
    exit: 74,
    next: "Look at `cause` and `details.path`: permission, space, or a failing disk.",
  },
} as const satisfies Record<string, ErrorFacts>;

export type ErrorCode = keyof typeof ERRORS;

/** The codes that say in `details.reason` which of their causes it was. */
type CodeWithReason = { [C in ErrorCode]: (typeof ERRORS)[C] extends { reasons: object } ? C : never }[ErrorCode];

/** A value of `details.reason` of errors with this code. */
export type ErrorReason<C extends CodeWithReason = CodeWithReason> = C extends CodeWithReason
  ? keyof (typeof ERRORS)[C]["reasons"]
  : never;

export interface ErrorInit {
  readonly details?: Record<string, unknown>;
  readonly next?: readonly string[];
  readonly cause?: unknown;
}

type DetailsOf<C extends ErrorCode> = Readonly<Record<string, unknown>> &
  (C extends CodeWithReason ? { readonly reason: ErrorReason<C> } : unknown);

/** Every failure Holdfast reports on purpose. Anything else that escapes is a bug. */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly next: readonly string[];

  constructor(code: Exclude<ErrorCode, CodeWithReason>, message: string, init?: ErrorInit);
  constructor(code: "E_CONFIG", message: string, init: ErrorInit & { readonly reason: ErrorReason<"E_CONFIG"> });
  constructor(
    code: "E_STORE_UNAVAILABLE",
    message: string,
    init: ErrorInit & { readonly reason: ErrorReason<"E_STORE_UNAVAILABLE"> },
  );
  constructor(code: ErrorCode, message: string, init: ErrorInit & { readonly reason?: ErrorReason } = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    const { reason, details = {} } = init;
    this.name = "HoldfastError";
    this.code = code;
    this.retryable = ERRORS[code].retryable;
    this.details = reason === undefined ? details : { reason, ...details };
    this.next = init.next ?? [ERRORS[code].next];
  }

  /** Returns an error with these fields of another one, whose reason, if its code has reasons, is in its details. */
  static again({ code, message, ...init }: ErrorInit & Pick<HoldfastError, "code" | "message">): HoldfastError {
    return new HoldfastError(code as Exclude<ErrorCode, CodeWithReason>, message, init);
  }

  toJSON(): Record<string, unknown> {
    const { code, message, retryable, details, next } = this;
    return { code, message, retryable, details, next };
  }
}

export function isHoldfastError<C extends ErrorCode = ErrorCode>(
  error: unknown,
  code?: C,
): error is HoldfastError & { readonly code: C; readonly details: DetailsOf<C> } {
  return error instanceof HoldfastError && (code === undefined || error.code === code);
}

/** `E_INVALID_ARGUMENT` naming the field. */
export function invalidArgument(field: string, message: string, next?: string): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `${field}: ${message}`, {
    details: { field },
    ...(next === undefined ? {} : { next: [next] }),
  });
}

/** Errors by which the system refuses something to this user, or to this place. */
const REFUSALS: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

/** Wraps an error of a system call as `E_IO` that names the path, and the user who was refused, or passes a coded one through. */
export function ioError(error: unknown, doing: string, path: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const errno = (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown";
  const user = REFUSALS.has(errno) ? userName() : null;
  const next =
    user !== null
      ? [`Check the permissions of ${path} for user ${user}.`]
      : errno === "ENOSPC" || errno === "EDQUOT"
        ? ["Free some space, then try again."]
        : errno === "ENOENT"
          ? [`Check that ${path} is there, and its spelling.`]
          : undefined;
  return new HoldfastError("E_IO", `cannot ${doing} ${path}: ${errno}${user === null ? "" : ` (user ${user})`}`, {
    cause: error,
    details: { path, errno, ...(user === null ? {} : { user }) },
    ...(next === undefined ? {} : { next }),
  });
}
