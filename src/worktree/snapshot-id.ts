/** Names of snapshots: they sort by the time they were begun, and a person can say the first part. */
import { randomBytes } from "node:crypto";
import { invalidArgument } from "../support/errors.js";

const ID = /^\d{8}-\d{9}-[0-9a-f]{8}$/;

/** `20261115-174501123-9f3a2c1b`: date, time with milliseconds (UTC), and chance. */
export function newSnapshotId(wallMs: number): string {
  const digits = new Date(wallMs).toISOString().replaceAll(/\D/g, "");
  return `${digits.slice(0, 8)}-${digits.slice(8, 17)}-${randomBytes(4).toString("hex")}`;
}

export function isSnapshotId(text: string): boolean {
  return ID.test(text);
}

/** The beginning of an id, or its end from the last dash on. `E_INVALID_ARGUMENT`. */
export function parseIdPart(text: unknown): string {
  if (typeof text !== "string" || !/^[0-9a-f-]{4,27}$/.test(text))
    throw invalidArgument(
      "id",
      `${JSON.stringify(text)} is no snapshot id and no part of one (at least 4 characters)`,
      "holdfast history",
    );
  return text;
}
