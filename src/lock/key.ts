/**
 * Keys, the names of what is locked: 1 to 64 segments joined by `/`. A key is checked once, where it enters, and is a
 * branded string from then on. The key and each of its ancestors are its *nodes*; conflicts are decided node by node.
 */
import { invalidArgument } from "../base/errors.js";

declare const brand: unique symbol;
export type Key = string & { readonly [brand]: "Key" };

export const MAX_KEY_BYTES = 1024;
export const MAX_SEGMENT_BYTES = 128;
export const MAX_SEGMENTS = 64;
/** How many keys one request may name. */
export const MAX_KEYS = 64;

const SEGMENT = /^[A-Za-z0-9._\-:@+=,~%]+$/;
const ALLOWED = "letters, digits and . _ - : @ + = , ~ %";

/** Throws `E_INVALID_ARGUMENT` naming `field`. */
export function parseKey(text: unknown, field = "key"): Key {
  if (typeof text !== "string") throw invalidArgument(field, `a key is a string, not ${typeof text}`);
  if (text === "") throw invalidArgument(field, "a key is not empty");
  if (text.length > MAX_KEY_BYTES) throw invalidArgument(field, `longer than ${MAX_KEY_BYTES} bytes`);
  const segments = text.split("/");
  if (segments.length > MAX_SEGMENTS) throw invalidArgument(field, `more than ${MAX_SEGMENTS} segments`);
  for (const segment of segments) checkSegment(segment, text, field);
  return text as Key;
}

export function isKey(text: string): boolean {
  try {
    parseKey(text);
    return true;
  } catch {
    return false;
  }
}

function checkSegment(segment: string, text: string, field: string): void {
  if (segment === "") throw invalidArgument(field, `${JSON.stringify(text)} has an empty segment`);
  if (segment === "." || segment === "..") throw invalidArgument(field, `the segment "${segment}" is not allowed`);
  if (segment.length > MAX_SEGMENT_BYTES)
    throw invalidArgument(field, `the segment ${segment.slice(0, 20)}… is longer than ${MAX_SEGMENT_BYTES} bytes`);
  if (!SEGMENT.test(segment))
    throw invalidArgument(field, `${JSON.stringify(segment)} has characters other than ${ALLOWED}`);
}

/** The top-level segment: the tree a key belongs to, with one guard, one fence counter and one audit chain. */
export function treeOf(key: Key): Key {
  const end = key.indexOf("/");
  return (end < 0 ? key : key.slice(0, end)) as Key;
}

/** In the order in which their guards are taken. */
export function treesOf(about: readonly { readonly resource: Key }[]): readonly Key[] {
  const [first] = about;
  if (about.length === 1 && first !== undefined) return [treeOf(first.resource)];
  return [...new Set(about.map(({ resource }) => treeOf(resource)))].sort();
}

/** Ancestors from the top down, without the key itself. */
export function ancestorsOf(key: Key): Key[] {
  const ancestors: Key[] = [];
  for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) ancestors.push(key.slice(0, at) as Key);
  return ancestors;
}

/** The key's own node and those of its ancestors, from the top down. */
export function nodesOf(key: Key): Key[] {
  const nodes = ancestorsOf(key);
  nodes.push(key);
  return nodes;
}

export function depthOf(key: Key): number {
  let depth = 1;
  for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) depth += 1;
  return depth;
}

/** True when `key` is `ancestor` itself or lies below it. */
export function isWithin(key: string, ancestor: string): boolean {
  return key === ancestor || (key.length > ancestor.length && key.startsWith(ancestor) && key[ancestor.length] === "/");
}

/** The kind of the last segment (`map` of `project:a/map:m1`), or "" for a plain name. */
export function kindOf(node: Key): string {
  const segment = node.slice(node.lastIndexOf("/") + 1);
  const colon = segment.indexOf(":");
  return colon < 0 ? "" : segment.slice(0, colon);
}
