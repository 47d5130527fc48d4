/**
 * Reads entries of the audit trail as a store keeps them, once for all readers. A line that is not an entry, because the
 * disk or a person changed it, becomes an entry with the event `damaged`, so that the rest of the chain can be read on:
 *
 *   seq        its position in the chain
 *   resource   the tree
 *   details    reason: what is wrong; line: the beginning of what is stored
 *   hash       of this line at this position, only to tell damaged lines apart
 *
 * Everything else in it is empty, and its time is the beginning of 1970. The stores call it. It changes nothing, and it does
 * not verify the chain: an entry that was altered and still has the shape of one is shown as it stands.
 */
import { hash as digest } from "node:crypto";
import { type AuditEntry, EMPTY_CHAIN, follow } from "./audit.js";
import { isWithin, type Key } from "./key.js";

export interface EntryPlace {
  readonly tree: Key;
  /** The number of the entry by its position. */
  readonly seq: number;
}

const NO_TIME = new Date(0).toISOString();
const SHOWN_CHARACTERS = 200;

/** Returns the entry in a line of JSON, or a damaged one. Zeros before it are what a file has where it was shortened. */
export function readEntry(line: string, place: EntryPlace): AuditEntry {
  let value: unknown;
  try {
    // mutant: damaged-zeros: JSON.parse(line.replace(/^\0+/, "")) → JSON.parse(line)
    value = JSON.parse(line.replace(/^\0+/, ""));
  } catch {
    return damagedEntry(line, place, "it is not JSON");
  }
  return checkedEntry(value, line, place);
}

/** Returns the value as an entry if it has the shape of one, else a damaged one. */
export function checkedEntry(value: unknown, line: string, place: EntryPlace): AuditEntry {
  const problem = isRecord(value) ? problemOf(value, line, place) : "it is not a record";
  // mutant: damaged-entry: return problem === null ? → return problem !== "" ?
  return problem === null ? (value as unknown as AuditEntry) : damagedEntry(line, place, problem);
}

export function damagedEntry(line: string, { tree, seq }: EntryPlace, reason: string): AuditEntry {
  return {
    seq,
    at: NO_TIME,
    event: "damaged",
    resource: tree,
    owner: "",
    holder_id: "",
    fencing_token: null,
    lock_id: null,
    details: { reason, line: line.slice(0, SHOWN_CHARACTERS) },
    prev_hash: "",
    hash: digest("sha256", `${tree} ${seq} ${line}`, "hex"),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns what keeps these fields from being an entry, or null. */
function problemOf(fields: Fields, line: string, { tree, seq }: EntryPlace): string | null {
  const bad = badField(fields);
  if (bad !== null) return bad in fields ? `its ${bad} is not valid` : `it has no ${bad}`;
  if (!isWithin(fields.resource as string, tree)) return `its resource is not in the tree ${tree}`;
  // mutant: damaged-number: if (fields.seq !== seq && !isGenuine( → if (fields.seq === "" && !isGenuine(
  if (fields.seq !== seq && !isGenuine(line, fields)) return "its seq is that of another entry";
  return null;
}

/** A page reads thousands of entries, so the fields are checked one after the other. */
function badField(entry: Fields): keyof AuditEntry | null {
  if (!isCount(entry.seq) || entry.seq === 0) return "seq";
  if (typeof entry.at !== "string" || !TIME.test(entry.at)) return "at";
  if (typeof entry.event !== "string" || !EVENT.test(entry.event)) return "event";
  if (typeof entry.resource !== "string" || !KEY_SIGNS.test(entry.resource)) return "resource";
  if (typeof entry.owner !== "string") return "owner";
  if (typeof entry.holder_id !== "string") return "holder_id";
  if (entry.fencing_token !== null && !isCount(entry.fencing_token)) return "fencing_token";
  if (entry.lock_id !== null && typeof entry.lock_id !== "string") return "lock_id";
  if (!isRecord(entry.details) || !isPrevious(entry.details.previous)) return "details";
  if (typeof entry.prev_hash !== "string") return "prev_hash";
  return typeof entry.hash === "string" ? null : "hash";
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Readers show these two as they are, so they may have no sign that changes a line. */
const EVENT = /^[a-z_]{1,40}$/;
const KEY_SIGNS = /^[!-~]+$/;

/** The holder that was ended; readers show its fields. */
function isPrevious(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (!isRecord(value)) return false;
  return [value.owner, value.mode, value.acquired_at].every(
    (field) => field === undefined || typeof field === "string",
  );
}

/** Whether a line is as it was written, and only not where it was: lines before it are missing, or swapped with it. */
function isGenuine(line: string, { seq, prev_hash: hash }: Fields): boolean {
  return follow({ ...EMPTY_CHAIN, seq: (seq as number) - 1, hash: hash as string }, line) !== null;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
