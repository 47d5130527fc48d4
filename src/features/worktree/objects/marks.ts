/** A bit set with one bit for each object of an index. */
import type { IndexPart, ObjectPlace } from "./object-index.js";

export interface Marks {
  has(place: Pick<ObjectPlace, "part" | "record">): boolean;
  set(place: Pick<ObjectPlace, "part" | "record">): void;
  /** Whether any object of the part is marked. */
  hasAny(part: number): boolean;
}

export function createMarks(parts: readonly IndexPart[]): Marks {
  const bits = parts.map(({ count }) => new Uint8Array(Math.ceil(count / 8)));
  return {
    has: ({ part, record }) => ((bits[part]?.[record >> 3] ?? 0) & (1 << (record & 7))) !== 0,
    set({ part, record }) {
      const own = bits[part];
      if (own !== undefined) own[record >> 3] = (own[record >> 3] ?? 0) | (1 << (record & 7));
    },
    hasAny: (part) => bits[part]?.some((byte) => byte !== 0) ?? false,
  };
}
