/** Tells random histories to all stores and compares what they answer with what the reference model does. */

import { expect } from "vitest";
import { fc } from "../fixed-seed.js";
import { type Habitat, openFileHabitat, openMemoryHabitat, openSqliteHabitat } from "./habitats.js";
import { anyHistory, type Step } from "./history.js";
import { settle } from "./telling.js";
import { World } from "./world.js";

/** Longer than any history takes, so that each begins at the same moment on every store. */
const HISTORY_MS = 1_000_000;

export interface SideBySide {
  /** Events and codes of refusals that came up. */
  readonly seen: ReadonlySet<string>;
  compare(histories: number, of?: fc.Arbitrary<Step[]>): Promise<void>;
  close(): Promise<void>;
}

export async function openSideBySide(): Promise<SideBySide> {
  return createSideBySide([await openMemoryHabitat(), await openSqliteHabitat(), await openFileHabitat()]);
}

/** The first is the model. */
export function createSideBySide(habitats: readonly Habitat[]): SideBySide {
  const seen = new Set<string>();
  const handsOver = habitats.every(({ store }) => store.abilities.handsOver);
  let told = 0;

  async function tell(history: readonly Step[]): Promise<void> {
    told += 1;
    const stories: unknown[] = [];
    for (const habitat of habitats) {
      habitat.goTo(told * HISTORY_MS);
      stories.push(settle(await new World(habitat, `h${told}`, handsOver).live(history)));
    }
    const [model] = stories;
    for (const [, what] of JSON.stringify(model).matchAll(/"(?:event|refused)":"(\w+)"/g)) seen.add(what ?? "");
    if (JSON.stringify(model).includes('"handed_over":true')) seen.add("handed_over");
    for (const [at, story] of stories.entries()) expect(story, habitats[at]?.name).toEqual(model);
  }

  return {
    seen,
    compare: (histories, of = anyHistory) => fc.assert(fc.asyncProperty(of, tell), { numRuns: histories }),
    async close() {
      for (const habitat of habitats) await habitat.close();
    },
  };
}
