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
  for (const [name, isRight] of SHAPE)
    if (!isRight(fields[name])) return name in fields ? `its ${name} is not valid` : `it has no ${name}`;
  if (!isWithin(fields.resource as string, tree)) return `its resource is not in the tree ${tree}`;
  // mutant: damaged-number: if (fields.seq !== seq && !isGenuine( → if (fields.seq === "" && !isGenuine(
  if (fields.seq !== seq && !isGenuine(line, fields)) return "its seq is that of another entry";
  return null;
}

const isText = (value: unknown): boolean => typeof value === "string";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

const RULES: Readonly<Record<keyof AuditEntry, (value: unknown) => boolean>> = {
  seq: (value) => isCount(value) && value !== 0,
  at: (value) => typeof value === "string" && TIME.test(value) && !Number.isNaN(Date.parse(value)),
  event: (value) => isText(value) && value !== "",
  resource: isText,
  owner: isText,
  holder_id: isText,
  fencing_token: (value) => value === null || isCount(value),
  lock_id: (value) => value === null || isText(value),
  details: (value) => isRecord(value) && isPrevious(value.previous),
  prev_hash: isText,
  hash: isText,
};
const SHAPE = Object.entries(RULES);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The holder that was ended; readers show its fields. */
function isPrevious(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (!isRecord(value)) return false;
  return [value.owner, value.mode, value.acquired_at].every((field) => field === undefined || isText(field));
}

/** Whether a line is as it was written, and only not where it was: lines before it are missing, or swapped with it. */
function isGenuine(line: string, { seq, prev_hash: hash }: Fields): boolean {
  return follow({ ...EMPTY_CHAIN, seq: (seq as number) - 1, hash: hash as string }, line) !== null;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
