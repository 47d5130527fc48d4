/** The contract of a store's publish records (manifests): reading them, and the steps of a publish that change them. */
import type { Manifest, ManifestFile } from "../lock/manifest.js";
import type { FencedRef, GrantRef, Party } from "./contract.js";

/** A publish before its first byte. */
export interface ManifestDraft {
  readonly id: string;
  readonly op: string;
  readonly target: string;
  readonly tmpPath: string;
  /** As `Manifest.pathKey`. */
  readonly pathKey: Manifest["pathKey"];
}

/** A manifest as it is asked for. */
export type ManifestRef = Pick<Manifest, "id" | "target" | "resource" | "pathKey">;

/** What is known once everything is written and synced. */
export interface Seal {
  readonly identity: string;
  readonly fileCount: number;
  readonly byteCount: number;
}

export interface ManifestPage {
  readonly target: string | null;
  readonly state: Manifest["state"] | null;
  /** Goes on behind this one. */
  readonly after: Pick<Manifest, "createdAt" | "id"> | null;
  readonly limit: number;
}

/**
 * The record of what is published. Each call is one step under the guards of the manifest's trees; those of a publisher
 * check lease and fence in it. A publish that a crash left pending is settled before the next grant on, above or below its
 * key or the key of the target's files.
 *
 * A step is seen by everybody when its call resolves. `begin`, `seal` and `commit` need not be on the disk by then: a
 * publisher waits for that with `onDisk`, before the rename and before it tells anybody.
 */
export interface Manifests {
  /** Puts a manifest on record and settles what is left on its target. `E_CONFIG` for another key than the recorded. */
  begin(grant: GrantRef, party: Party, draft: ManifestDraft): Promise<Manifest>;
  /**
   * Leaves the number of this grant, the publisher's on the target's own key where it has one, beside the target: from now on
   * no earlier publisher renames anything there. `E_FENCING_MISMATCH` when a later one has left its number. It does nothing
   * where the guard of the store does that.
   */
  claim(manifest: Manifest, by: FencedRef): Promise<void>;
  addFiles(grant: GrantRef, manifest: Manifest, files: readonly ManifestFile[]): Promise<void>;
  seal(grant: GrantRef, manifest: Manifest, seal: Seal, files: readonly ManifestFile[]): Promise<Manifest>;
  /**
   * Checks, renames by `make`, and marks it committed. `make` returns whether something was replaced. The step checks the
   * grants `also` as it checks the first: those that the publisher holds on the target's own key.
   */
  commit(
    grant: GrantRef,
    party: Party,
    manifest: Manifest,
    make: () => boolean,
    also?: readonly FencedRef[],
  ): Promise<Manifest>;
  /**
   * Resolves when all steps made here before are on the disk. Who has nothing else to do meanwhile may have this thread
   * stand still for it, which is quicker. `E_IO`: it is not known whether they are.
   */
  onDisk(how?: { readonly standStill: boolean }): Promise<void>;
  /** Settles one that is pending and whose writer is gone; with `mine` also the caller's own. Null: there is none. */
  settle(which: ManifestRef, party: Party, mine: boolean): Promise<Manifest | null>;
  /** Notes that nothing is left at its `tmpPath`, and forgets what newer manifests of the target have outlived. */
  clear(manifest: Manifest): Promise<void>;
  list(page: ManifestPage): Promise<readonly Manifest[]>;
  /** In pages, `after` the path of the last. */
  files(manifest: Manifest, after: string | null, limit: number): Promise<readonly ManifestFile[]>;
}
