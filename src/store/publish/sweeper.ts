/** Removes the files that ended manifests left on the disk, in the background. */

import { removeTree } from "../../files/remove-tree.js";
import type { Manifest } from "../../lock/manifest.js";
import { leftoversOf } from "../../platform/exchange.js";

export interface Sweeper {
  sweep(manifests: readonly Manifest[]): void;
  /** Waits for what is being removed. */
  close(): Promise<void>;
}

/** `clear` notes that nothing of it is left. */
export function createSweeper(clear: (manifest: Manifest) => Promise<void>): Sweeper {
  const sweeping = new Set<Promise<void>>();

  const sweepOne = async (manifest: Manifest): Promise<void> => {
    try {
      for (const path of leftoversOf(manifest.tmpPath)) await removeTree(path);
      await clear(manifest);
    } catch {
      // It stays on record as not cleared: the next publish there, or doctor, tries again.
    }
  };

  return {
    sweep(manifests) {
      for (const manifest of manifests) {
        if (manifest.isCleared || manifest.state === "pending") continue;
        const work = sweepOne(manifest);
        sweeping.add(work);
        void work.then(() => sweeping.delete(work));
      }
    },
    async close() {
      await Promise.all(sweeping);
    },
  };
}
