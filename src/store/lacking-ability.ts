/** Stands in for the methods that a store does not have. */
import type { Abilities } from "./contract.js";

/** Makes a method for a store without this ability. It throws: a caller looks at `abilities` first. */
export function lacks(ability: keyof Abilities): () => never {
  return () => {
    throw new RangeError(`this was called although abilities.${ability} is false`);
  };
}
