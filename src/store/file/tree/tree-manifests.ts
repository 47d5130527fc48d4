/**
 * The unfinished publishes of one tree: the folder `publishing` of the tree points to them. The tree calls this under its
 * guard. A crash between the commit of a step and a write here leaves `pending` in tree.json, and the write is repeated.
 */
import { type Key, treeOf } from "../../../lock/key.js";
import type { Manifest, ManifestRecord } from "../../../lock/manifest.js";
import type { ManifestFiles } from "../publish/manifest-files.js";

export class TreeManifests {
  readonly #files: ManifestFiles;
  readonly #tree: Key;
  readonly #folder: string;

  constructor(files: ManifestFiles, tree: Key, folder: string) {
    this.#files = files;
    this.#tree = tree;
    this.#folder = folder;
  }

  /** Returns the pending ones near one of the keys. */
  pending(keys: readonly Key[]): readonly Manifest[] {
    return this.#files.pending(this.#folder, keys);
  }

  /** Whether anything is pending after these changes; it is pointed to in the folder, or in the changes. */
  areLeftAfter(changes: readonly Manifest[]): boolean {
    const ended = new Set(changes.filter(({ state }) => state !== "pending").map(({ id }) => id));
    return ended.size < changes.length || this.#files.pointers(this.#folder).some((id) => !ended.has(id));
  }

  /** Carries out a change that is committed, again if need be. */
  write(manifest: ManifestRecord): void {
    if (treeOf(manifest.resource as Key) === this.#tree) this.#files.write(manifest, this.#folder);
    else this.#files.point(manifest, this.#folder);
  }
}
