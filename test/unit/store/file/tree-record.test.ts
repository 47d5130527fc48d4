import { describe, expect, it } from "vitest";
import { type Key, parseKey } from "../../../../src/lock/key.js";
import { encodeSegment } from "../../../../src/store/file/encoding.js";
import { TREE_CODEC, type TreeRecord } from "../../../../src/store/file/tree/tree-record.js";
import type { StoredGrant } from "../../../../src/store/local/grant-codec.js";

const GRANT = { owner: 'agent:"quoted"', metadata: { why: "a\nb \\ ü \u2028" } } as unknown as StoredGrant;

const RECORD: TreeRecord = {
  schema_version: 1,
  tree: parseKey("Az09._-:@+=,~%"),
  boot_id: 'boot-"host"',
  fence: 1_794_741_766_731,
  fence_reserved: 1_794_741_767_730,
  audit: { seq: 3, hash: "0a".repeat(32), bytes: 421 },
  below: 2,
  waiting: true,
  grants: [GRANT, GRANT],
};
const PATH = `locks/${encodeSegment(RECORD.tree)}/tree.json`;
const PENDING = [{ resource: parseKey("a/b"), grants: [GRANT] }];

describe("the record of a tree", () => {
  it.each<[string, TreeRecord]>([
    ["grants", RECORD],
    ["nothing held", { ...RECORD, waiting: false, grants: [] }],
    ["pending files", { ...RECORD, pending: PENDING, publishes: true }],
    ["a step on several trees", { ...RECORD, op: { id: "x", next: { ...RECORD, pending: PENDING }, durable: true } }],
  ])("STORE-2: is written as JSON, with %s", (_, record) => {
    expect(JSON.parse(TREE_CODEC.encode(record))).toEqual(record);
    expect(() => TREE_CODEC.decode(record, PATH)).not.toThrow();
  });

  it.each<[string, Partial<Record<keyof TreeRecord, unknown>>]>([
    ["a name", { tree: 'a","fence":0,"x":"' as Key }],
    ["a hash", { audit: { ...RECORD.audit, hash: 'a"b' } }],
    ["a flag", { waiting: "yes" }],
    ["a version", { schema_version: "1" }],
  ])("STORE-2: is not gone on with when %s would not be written back as it was read", (_, wrong) => {
    expect(() => TREE_CODEC.decode({ ...RECORD, ...wrong } as TreeRecord, PATH)).toThrow("makes no sense");
  });
});
