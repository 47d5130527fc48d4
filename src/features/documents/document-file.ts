/**
 * Defines the file of a document: `{ "schema_version": 1, "revision": n, …the document's own fields }`, indented, so
 * that a person can read it and git can compare it. It is only ever replaced whole.
 */
import { closeSync, linkSync, renameSync, unlinkSync } from "node:fs";
import { dirname } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { withoutByteOrderMark } from "../../base/without-byte-order-mark.js";
import { removeFile, writeFully } from "../../files/durable-file.js";
import { textIfThere } from "../../files/if-there.js";
import { exchangeFiles } from "../../platform/exchange-files.js";
import { createFresh, makeFolder } from "../../platform/folder-rights.js";

const DOCUMENT_SCHEMA = 1;
const CONFLICT = /^<{7} .*^={7}$.*^>{7} /ms;

type Value = { readonly [name: string]: unknown };

/** A document as it was at one moment. */
export interface StoredDocument<V extends object = Value> {
  readonly id: string;
  /** Grows by one with each change. */
  readonly revision: number;
  readonly value: V;
}

export function encodeDocument({ revision, value }: Omit<StoredDocument<object>, "id">): string {
  return `${JSON.stringify({ schema_version: DOCUMENT_SCHEMA, revision, ...value }, null, 2)}\n`;
}

/** `E_FORMAT_UNSUPPORTED` for a newer schema, `E_STORE_CORRUPT` for what is no document. */
export function decodeDocument<V extends object>(id: string, text: string, path: string): StoredDocument<V> {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw corruptDocument(path, CONFLICT.test(text) ? "git has left a conflict in it" : "it is no JSON", cause);
  }
  if (typeof found !== "object" || found === null || Array.isArray(found))
    throw corruptDocument(path, "it is no object");
  const { schema_version: schema, revision, ...value } = found as Record<string, unknown>;
  if (typeof schema === "number" && schema > DOCUMENT_SCHEMA)
    throw new HoldfastError("E_FORMAT_UNSUPPORTED", `${path} has schema version ${schema}, newer than this program's`, {
      details: { path, schema_version: schema },
    });
  if (schema !== DOCUMENT_SCHEMA || typeof revision !== "number" || !Number.isSafeInteger(revision))
    throw corruptDocument(path, "schema_version or revision is missing");
  return { id, revision, value: value as V };
}

/** `E_STORE_CORRUPT`. */
export function corruptDocument(path: string, why: string, cause?: unknown): HoldfastError {
  return new HoldfastError("E_STORE_CORRUPT", `${path} cannot be read: ${why}`, {
    cause,
    details: { path, why },
    next: [`Look at ${path} and mend it, or put back an older copy (git has one if the folder is tracked).`],
  });
}

/** Without a byte order mark. Null when there is no such file. */
export function readText(path: string): string | null {
  const text = textIfThere(path);
  return text === null ? null : withoutByteOrderMark(text);
}

/** Replaces the file, or with null removes it. Not synced: the journal has the content. `fresh` is a name to write at. */
export function replaceDocument(path: string, text: string | null, fresh: string, exists: boolean): void {
  if (text === null) {
    removeFile(path);
    return;
  }
  try {
    // A file of its own, never one that is there: after a death between the exchange and the removal that is the old
    // document, which a reader may have open and a backup may have linked.
    const fd = createFresh(fresh);
    try {
      writeFully(fd, Buffer.from(text), 0);
    } finally {
      closeSync(fd);
    }
    if (exists) {
      if (exchangeFiles(fresh, path)) unlinkSync(fresh);
    } else {
      makeFolder(dirname(path));
      renameSync(fresh, path);
    }
  } catch (error) {
    throw ioError(error, "replace", path);
  }
}

/** Moves what cannot be read out of the way, beside itself and never over anything; returns where it is. */
export function quarantine(path: string, now: Date): string {
  const stamp = now.toISOString().replaceAll(/[:.]/g, "-");
  for (let number = 0; ; number += 1) {
    const place = `${path}.corrupt-${stamp}${number === 0 ? "" : `-${number}`}`;
    try {
      linkSync(path, place);
      unlinkSync(path);
      return place;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw ioError(error, "quarantine", path);
    }
  }
}
