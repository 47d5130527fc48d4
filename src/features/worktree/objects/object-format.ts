/**
 * Defines the file formats of objects. An object is the content of a file, or a piece of a manifest, named by its
 * SHA-256. The objects that one thread of one snapshot stores go into one pack, written front to back and synced once;
 * a large object has a file of its own. Both stay in the folder of the snapshot that brought them, so that publishing
 * them is one rename.
 *
 *   pack    "holdfast-pack-1\n", then for each object: SHA-256 (32 bytes), length (6 bytes, big endian), content
 *   index   "holdfast-indx-1\n", then sorted by hash: SHA-256 (32), offset of the content in the pack (6), length (6);
 *           an offset of all ones means a large object; then the SHA-256 of everything before
 *   large   large/ab/<the other 62 digits>
 */
import { join } from "node:path";

export const PACK_HEAD = Buffer.from("holdfast-pack-1\n");
export const INDEX_HEAD = Buffer.from("holdfast-indx-1\n");
export const HASH_BYTES = 32;
export const RECORD_HEAD_BYTES = HASH_BYTES + 6;
export const INDEX_RECORD_BYTES = HASH_BYTES + 12;
/** The offset that says: it is a file of its own. */
export const IS_LARGE = 2 ** 48 - 1;
/** From this size on a content has a file of its own: it can be shared with the payload by a reflink, and have holes. */
export const LARGE_BYTES = 1 << 20;

export function packName(thread: number): string {
  return `pack-${thread}`;
}

export function indexName(thread: number): string {
  return `pack-${thread}.idx`;
}

export const INDEX_FILE = /^pack-\d+\.idx$/;

export function largePath(folder: string, sha256: string): string {
  return join(folder, "large", sha256.slice(0, 2), sha256.slice(2));
}
