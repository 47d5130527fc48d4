/**
 * Converts errors of the server, or of the connection to it, to coded errors. A refusal of the schema's own functions
 * has an SQLSTATE of class HF, its code in front of the message and its details as JSON. Every error that means "not
 * now" is `E_STORE_UNAVAILABLE`; so is a server without the schema, because after a failover that is a server that
 * knows nothing of what is held, not a free one.
 */
import { ERRORS, type ErrorCode, type ErrorReason, HoldfastError } from "../../../base/errors.js";

interface ServerError {
  readonly code?: string;
  readonly message?: string;
  readonly detail?: string;
  readonly hint?: string;
}

/** No schema, no such table or function. */
const NOTHING_THERE = new Set(["3F000", "42883", "42P01"]);
const NO_DATABASE = "3D000";
/** Rolled back for the sake of another transaction: trying again is safe. */
const ROLLED_BACK = new Set(["40001", "40P01"]);

const READ_ONLY = "25006";
/** Also what a server says that only follows another, when it is asked for what it does not have. */
const UNSUPPORTED = "0A000";
export const TOO_MANY_CLIENTS = "53300";
const LOCK_TIMEOUT = "55P03";
const CANCELLED = "57014";

type Reason = ErrorReason<"E_STORE_UNAVAILABLE">;

/** The reasons by the start of the SQLSTATE. */
const REASONS: readonly (readonly [start: string, reason: Reason])[] = [
  ["08", "unreachable"],
  ["57P", "unreachable"],
  ["40", "busy"],
  [LOCK_TIMEOUT, "busy"],
  [CANCELLED, "timeout"],
  // The limits of an idle and of a long transaction.
  ["25P0", "timeout"],
  ["53", "full"],
  [NO_DATABASE, "no_store"],
];

function factsOf(error: unknown): ServerError {
  return typeof error === "object" && error !== null ? (error as ServerError) : {};
}

/** Every SQLSTATE has a digit in it. `EPIPE`, which the system says of a connection, has not. */
function isSqlState(code: string | undefined): code is string {
  // mutant: postgres-epipe: /^(?=.*\d)[0-9A-Z]{5}$/ → /^[0-9A-Z]{5}$/
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code);
}

/** The connection broke or was never made: whether the step was done is unknown. */
export function isLostConnection(error: unknown): boolean {
  if (error instanceof HoldfastError) return false;
  const { code } = factsOf(error);
  if (!isSqlState(code) || code.startsWith("08") || code.startsWith("57P")) return true;
  // mutant: postgres-few-connections: ROLLED_BACK.has(code) || code === TOO_MANY_CLIENTS; → ROLLED_BACK.has(code);
  return ROLLED_BACK.has(code) || code === TOO_MANY_CLIENTS;
}

export function toHoldfastError(error: unknown, where: string): Error {
  if (error instanceof HoldfastError) return error;
  const { code, message = String(error), detail, hint } = factsOf(error);
  // The driver's own words for a password that the server requests and the caller has not given.
  if (message.includes("client password must be a string"))
    return accessDenied(where, "it requests a password, and there is none", error);
  if (!isSqlState(code))
    return error instanceof TypeError ? error : unavailable(where, message, error, reasonOfLoss(code, message));
  if (code.startsWith("HF")) return refusal(message, detail, hint, error);
  if (code === "42501")
    return new HoldfastError("E_FORBIDDEN", `the database role may not do that: ${message}`, {
      cause: error,
      next: [
        "In a store, grant holdfast_user to it, or holdfast_admin to break locks; only the schema's owner migrates.",
        "If it has that role, run `holdfast migrate` as the schema's owner: it gives the roles their rights.",
      ],
    });
  if (code.startsWith("28")) return accessDenied(where, message, error);
  if (NOTHING_THERE.has(code)) return nothingThere(where, message, error);
  const next = nextAfter(code, message);
  const reason = reasonOf(code, message);
  if (next !== null) return unavailable(where, message, error, reason, next);
  if (code.startsWith("22"))
    return new HoldfastError("E_INVALID_ARGUMENT", `the server cannot take it: ${message}`, { cause: error });
  if (code.startsWith("42") && error instanceof Error) return error;
  return unavailable(where, message, error, reason);
}

function accessDenied(where: string, message: string, cause: unknown): HoldfastError {
  return new HoldfastError("E_CONFIG", `${where} does not let this account in: ${message}`, {
    reason: "access_denied",
    cause,
    next: ["Check the user and the password (in the URL, PGPASSWORD or ~/.pgpass), and the server's pg_hba.conf."],
  });
}

/** Of a statement the caller wrote: what concerns us is coded, what concerns the statement is the server's own error. */
export function toCallersError(error: unknown, where: string): unknown {
  const { code, message = "" } = factsOf(error);
  if (code === READ_ONLY)
    return new HoldfastError(
      "E_INVALID_ARGUMENT",
      "sql: the statement changes something, and only reading is allowed here",
      {
        cause: error,
        details: { field: "sql" },
      },
    );
  if (code === CANCELLED && message.includes("statement timeout"))
    return new HoldfastError(
      "E_LOCK_TIMEOUT",
      "a statement took longer than its transaction may, and was rolled back",
      {
        cause: error,
      },
    );
  return isLostConnection(error) || code?.startsWith("HF") ? toHoldfastError(error, where) : error;
}

function refusal(message: string, detail: string | undefined, hint: string | undefined, cause: unknown): HoldfastError {
  const [, code = "", why = message] = /^(E_[A-Z_]+): (.*)$/s.exec(message) ?? [];
  return HoldfastError.again({
    code: code in ERRORS ? (code as ErrorCode) : "E_STORE_CORRUPT",
    message: why,
    cause,
    ...(detail === undefined ? {} : { details: JSON.parse(detail) as Record<string, unknown> }),
    ...(hint === undefined || hint === "" ? {} : { next: [hint] }),
  });
}

/** What to do about it, where that is known. */
function nextAfter(code: string, message: string): string | null {
  if (onlyReads(code, message))
    return "This server only reads: connect to the primary, or find out why default_transaction_read_only is on.";
  if (code === LOCK_TIMEOUT) return "Try again; if it goes on, pg_stat_activity shows which transaction was left open.";
  if (code === NO_DATABASE) return "Create the database, or correct its name in the URL.";
  return null;
}

function onlyReads(code: string, message: string): boolean {
  return code === READ_ONLY || (code === UNSUPPORTED && message.includes("recovery"));
}

function reasonOf(code: string, message: string): Reason {
  if (onlyReads(code, message)) return "read_only";
  return REASONS.find(([start]) => code.startsWith(start))?.[1] ?? "server_error";
}

/** The system has a code for a connection that timed out; the driver has only words. */
function reasonOfLoss(code: string | undefined, message: string): Reason {
  return code === "ETIMEDOUT" || /\btimeout\b/.test(message) ? "timeout" : "unreachable";
}

function unavailable(where: string, message: string, cause: unknown, reason: Reason, next?: string): HoldfastError {
  const known = next === undefined ? {} : { next: [next] };
  return new HoldfastError("E_STORE_UNAVAILABLE", `${where}: ${message}`, { reason, cause, ...known });
}

function nothingThere(where: string, message: string, cause: unknown): HoldfastError {
  return new HoldfastError("E_STORE_UNAVAILABLE", `there is no store on ${where}: ${message}`, {
    reason: "no_store",
    cause,
    next: [
      "If it is really a new one, set it up once with `holdfast migrate`; if not, find out where the old one went.",
    ],
  });
}
