/** Keeps publish records in memory, as two maps that every query searches whole. */
import type { Key } from "../../lock/key.js";
import { byAge, isNear, type Manifest, type ManifestFile } from "../../lock/manifest.js";
import type { ManifestPage } from "../contract.js";
import type { Changes } from "../ledger.js";

export class MemoryManifests {
  readonly #manifests = new Map<string, Manifest>();
  readonly #files = new Map<string, ManifestFile[]>();

  apply({ manifests, manifestDrops, files }: Changes): void {
    for (const manifest of manifestDrops ?? []) {
      this.#manifests.delete(manifest.id);
      this.#files.delete(manifest.id);
    }
    for (const manifest of manifests ?? []) this.#manifests.set(manifest.id, manifest);
    if (files !== undefined)
      this.#files.set(files.manifest.id, [...(this.#files.get(files.manifest.id) ?? []), ...files.files].sort(byPath));
  }

  pendingNear(keys: readonly Key[]): Manifest[] {
    if (this.#manifests.size === 0) return [];
    return this.#sorted((manifest) => manifest.state === "pending" && isNear(manifest, keys));
  }

  of(target: string): Manifest[] {
    return this.#sorted((manifest) => manifest.target === target);
  }

  page({ target, state, after, limit }: ManifestPage): Manifest[] {
    return this.#sorted(
      (manifest) =>
        (target === null || manifest.target === target) &&
        (state === null || manifest.state === state) &&
        (after === null || byAge(manifest, after) > 0),
    ).slice(0, limit);
  }

  files({ id }: Manifest, after: string | null, limit: number): ManifestFile[] {
    return (this.#files.get(id) ?? []).filter(({ path }) => after === null || path > after).slice(0, limit);
  }

  #sorted(isMeant: (manifest: Manifest) => boolean): Manifest[] {
    return [...this.#manifests.values()].filter(isMeant).sort(byAge);
  }
}

function byPath(a: ManifestFile, b: ManifestFile): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
