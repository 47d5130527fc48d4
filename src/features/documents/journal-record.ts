/** Encodes one change of the documents for the journal: a line with the length and checksum of what follows, then JSON. */
import { createHash } from "node:crypto";

/** A file that is replaced. `before` and `after` name contents; null means that there is no file. */
interface DocumentWrite {
  readonly id: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly text: string | null;
}

/** Lines added to a log that was `at` bytes long. */
export interface LogAppend {
  readonly log: string;
  readonly at: number;
  readonly text: string;
}

export interface JournalRecord {
  readonly writes: readonly DocumentWrite[];
  readonly appends: readonly LogAppend[];
}

/** Where a record stands among the others. */
export interface RecordPlace {
  readonly generation: number;
  readonly seq: number;
}

export interface PlacedRecord extends RecordPlace {
  readonly record: JournalRecord;
  /** Bytes it takes. */
  readonly length: number;
}

const HEAD_LENGTH = 128;
const HEAD = /^holdfast-journal 1 (\d+) (\d+) (\d+) ([0-9a-f]{64}) *\n$/;

/** Names a content. Two contents with one name are not to be expected. */
export function identityOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 32);
}

export function encodeRecord({ generation, seq }: RecordPlace, record: JournalRecord): Buffer {
  const body = Buffer.from(`${JSON.stringify(record)}\n`);
  const head = `holdfast-journal 1 ${generation} ${seq} ${body.length} ${checksum(generation, seq, body)}`;
  return Buffer.concat([Buffer.from(`${head.padEnd(HEAD_LENGTH - 1)}\n`), body]);
}

/** The record at this place of the bytes, or null when there is none that is whole. */
export function decodeRecord(bytes: Buffer, at: number): PlacedRecord | null {
  const found = HEAD.exec(bytes.toString("latin1", at, at + HEAD_LENGTH));
  if (found === null) return null;
  const [generation, seq, size] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const body = bytes.subarray(at + HEAD_LENGTH, at + HEAD_LENGTH + size);
  if (body.length < size || checksum(generation, seq, body) !== found[4]) return null;
  return { generation, seq, record: JSON.parse(body.toString()) as JournalRecord, length: HEAD_LENGTH + size };
}

/** How long the record is that begins with this head, without a look at its body; null when it is no head. */
export function announcedLength(head: Buffer, place: RecordPlace): number | null {
  const found = HEAD.exec(head.toString("latin1", 0, HEAD_LENGTH));
  if (found === null || Number(found[1]) !== place.generation || Number(found[2]) !== place.seq) return null;
  return HEAD_LENGTH + Number(found[3]);
}

export { HEAD_LENGTH };

function checksum(generation: number, seq: number, body: Buffer): string {
  return createHash("sha256").update(`${generation} ${seq} `).update(body).digest("hex");
}
