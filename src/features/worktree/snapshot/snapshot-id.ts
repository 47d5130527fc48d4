/** Makes the ids of snapshots: they sort by the time they were begun, and a person can say the first part. */
import { randomBytes } from "node:crypto";
import { invalidArgument } from "../../../base/errors.js";

const ID = /^\d{8}-\d{9}-[0-9a-f]{8}$/;

/** `20261115-174501123-9f3a2c1b`: date, time with milliseconds (UTC), and chance. */
export function newSnapshotId(wallMs: number): string {
  const digits = new Date(wallMs).toISOString().replaceAll(/\D/g, "");
  return `${digits.slice(0, 8)}-${digits.slice(8, 17)}-${randomBytes(4).toString("hex")}`;
}

export function isSnapshotId(text: string): boolean {
  return ID.test(text);
}

/** The beginning of an id, or its end from the last dash on. */
export function isIdPart(text: string): boolean {
  return /^[0-9a-f-]{4,27}$/.test(text);
}

export function isTag(text: unknown): text is string {
  return typeof text === "string" && /^[\w.:@+-]{1,64}$/.test(text);
}

/** What a person may call a snapshot by. Every part of an id could be a tag too. `E_INVALID_ARGUMENT`. */
export function parseSnapshotName(text: unknown): string {
  if (!isTag(text))
    throw invalidArgument(
      "id",
      `${JSON.stringify(text)} is no snapshot id, no part of one, and no tag`,
      "holdfast history",
    );
  return text;
}
