/**
 * Makes lease tokens and their hashes. The lease token is the secret that proves that a grant is one's own. Stores keep
 * only its hash.
 */
import { hash, randomFillSync } from "node:crypto";

const TOKEN_BYTES = 24;
/** Random bytes are drawn in bulk: one call for many tokens costs a fraction of one call each. */
const pool = Buffer.alloc(TOKEN_BYTES * 64);
let used = pool.length;

export function newLeaseToken(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const token = pool.toString("base64url", used, used + TOKEN_BYTES);
  pool.fill(0, used, used + TOKEN_BYTES);
  used += TOKEN_BYTES;
  return `hf_${token}`;
}

export function hashLeaseToken(token: string): string {
  return hash("sha256", token, "base64url");
}
