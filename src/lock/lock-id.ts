/**
 * Makes the ids of grants: UUIDs of version 8, the version for custom layouts. The first 60 bits come from the key, the
 * other 62 are random. So a store that keeps grants sorted by id has those on one key side by side and needs no second
 * index to find them. Two keys can share their first bits: a reader of a range of ids compares the keys too.
 */
import { randomUUID } from "node:crypto";

/** The same few keys are asked for again and again, and mostly the last one. */
let lastKey: string | null = null;
let lastPrefix = "";

/** The 18 characters that the id of every grant on this key begins with. */
export function lockIdPrefix(key: string): string {
  if (key !== lastKey) {
    lastPrefix = hashOf(key);
    lastKey = key;
  }
  return lastPrefix;
}

export function newLockId(key: string): string {
  return lockIdPrefix(key) + randomUUID().slice(18);
}

function hashOf(key: string): string {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let at = 0; at < key.length; at += 1) {
    const unit = key.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low ^ unit, 0x5f356495);
  }
  const a = hex(mix(high, low));
  const b = hex(mix(low, high));
  return `${a}-${b.slice(0, 4)}-8${b.slice(4, 7)}`;
}

/** Lets every bit of the input change every bit of the result: short keys differ in few. */
function mix(one: number, other: number): number {
  return Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, "0");
}
