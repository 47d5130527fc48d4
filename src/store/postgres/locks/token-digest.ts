/**
 * Converts the hash of a lease token between its three forms. The contract of a store names a token by its SHA-256; a
 * call sends that as `sha256:HASH`, a bound parameter, by which the server knows the caller; the tables keep the SHA-256
 * of the text that was sent, the seal. So a row of the tables, a backup or a page of a dump proves nothing. Called by the
 * modules that send tokens or read grants. The twin in SQL is `seal` in sql/rules/12-keys.sql.
 *
 * Not promised: what a call sends is as good as the token. A server that logs parameters keeps it (docs/postgres.md).
 */
import { hash } from "node:crypto";

export function digestOf(tokenHash: string): string {
  return `sha256:${tokenHash}`;
}

export function sealOf(tokenHash: string): string {
  return hash("sha256", digestOf(tokenHash), "hex");
}

/** By their seals. The server shows the seal of a grant only to a caller that sent its token. */
export function bySeal(tokenHashes: readonly string[]): ReadonlyMap<string, string> {
  return new Map(tokenHashes.map((each) => [sealOf(each), each]));
}
