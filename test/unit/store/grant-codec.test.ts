import { describe, expect, it } from "vitest";
import type { Grant, Proof } from "../../../src/lock/grant.js";
import { parseKey } from "../../../src/lock/key.js";
import { decodeGrant, encodeGrant, type StoredGrant } from "../../../src/store/local/grant-codec.js";

const PROOFS: readonly Proof[] = [
  { kind: "file", file: "1:2:3", inherited: false },
  { kind: "pid", pid: 7, startTime: "123", bootId: "boot", pidNamespace: "pid:[1]" },
  { kind: "none" },
];

const grantWith = (proof: Proof): Grant => ({
  lockId: "6b0a0a0a-0000-8000-8000-000000000000",
  resource: parseKey("a/b"),
  mode: "write",
  permits: null,
  owner: "agent:a",
  holderId: "host:me:1:1",
  nonce: "nonce",
  createdAt: 1_790_000_000_000,
  renewedAt: { wallMs: 1_790_000_001_000, bootMs: 12.5, bootId: "boot", machineId: "machine" },
  leaseMs: 30_000,
  graceMs: 30_000,
  renewals: 0,
  fencingToken: 5,
  tokenHash: "hash",
  profile: "default",
  detached: false,
  cover: null,
  proof,
  metadata: {},
});

/** What can be told from the others, or is not read. */
const FREE = new Set(["schema_version", "lease_expires_at"]);

/** Every place in the record where a value stands. */
function placesIn(record: object, above: readonly string[] = []): string[][] {
  return Object.entries(record).flatMap(([name, value]) => {
    const place = [...above, name];
    return typeof value === "object" && value !== null ? [place, ...placesIn(value, place)] : [place];
  });
}

function spoiled(record: StoredGrant, place: readonly string[], value: unknown): StoredGrant {
  const copy = structuredClone(record);
  const parent = place
    .slice(0, -1)
    .reduce<Record<string, unknown>>(
      (at, name) => at[name] as Record<string, unknown>,
      copy as unknown as Record<string, unknown>,
    );
  parent[place.at(-1) ?? ""] = value;
  return JSON.parse(JSON.stringify(copy)) as StoredGrant;
}

describe("a stored grant", () => {
  it.each(PROOFS)("comes back as it was, with the proof $kind", (proof) => {
    const grant = grantWith(proof);
    expect(decodeGrant(JSON.parse(JSON.stringify(encodeGrant(grant))) as StoredGrant)).toEqual(grant);
  });

  it.each(PROOFS)(
    "STALE-7: is unreadable, not guessed at, whatever field is missing or no such thing ($kind)",
    (proof) => {
      const record = encodeGrant(grantWith(proof));
      const believed: string[] = [];
      for (const place of placesIn(record).filter(([name = ""]) => !FREE.has(name)))
        for (const value of [undefined, ["x"]]) {
          try {
            decodeGrant(spoiled(record, place, value));
            believed.push(`${place.join(".")} = ${JSON.stringify(value)}`);
          } catch (error) {
            expect(error).toMatchObject({ message: "fields are missing or make no sense" });
          }
        }
      expect(believed).toEqual([]);
    },
  );
});
