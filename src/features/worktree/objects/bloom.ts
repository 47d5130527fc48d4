/**
 * A Bloom filter of SHA-256 sums, two bytes each: it sometimes answers yes for a sum that was never added, and never no
 * for one that was.
 */

const PROBES = 6;

export interface Bloom {
  add(sha256: Buffer): void;
  mayHave(sha256: Buffer): boolean;
}

/** `bits` is a power of two; with sixteen for each sum one answer in a thousand is wrong. */
export function createBloom(bits: number): Bloom {
  const bytes = new Uint8Array(bits / 8);
  const at = (sha256: Buffer, probe: number): number => sha256.readUInt32LE(probe * 4) & (bits - 1);
  return {
    add(sha256) {
      for (let probe = 0; probe < PROBES; probe += 1) {
        const bit = at(sha256, probe);
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (1 << (bit & 7));
      }
    },
    mayHave(sha256) {
      for (let probe = 0; probe < PROBES; probe += 1) {
        const bit = at(sha256, probe);
        if (((bytes[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
      }
      return true;
    },
  };
}
