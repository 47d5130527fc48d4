/**
 * Makes ids of grants from the request: every acquire has a lease token of its own, so its hash and the key name the
 * grant before it is made. A requester that does not learn how its request ended queries that id.
 */
import { hash } from "node:crypto";
import { lockIdPrefix } from "../../../lock/lock-id.js";

export function lockIdFor(key: string, tokenHash: string): string {
  const named = `${tokenHash}\n${key}`;
  if (named !== lastNamed) {
    const digits = hash("sha256", named, "hex");
    lastId = `${lockIdPrefix(key)}-8${digits.slice(0, 3)}-${digits.slice(3, 15)}`;
    lastNamed = named;
  }
  return lastId;
}

// It is asked for when the key is taken, and again when the answer has come.
let lastNamed = "";
let lastId = "";
