/** The role of manifests on a ledger: each call is one step on the trees of the manifests it concerns. */
import { type Key, treeOf } from "../lock/key.js";
import type { Manifest } from "../lock/manifest.js";
import { leftoversOf } from "../support/exchange.js";
import { removeTree } from "../support/remove-tree.js";
import type { ManifestDraft, Manifests } from "./contract.js";
import type { Ledger, LedgerView, Outcome } from "./ledger.js";
import { addFiles, begin, clear, commit, seal, settleOne } from "./operations/publish.js";

/** A target may turn out to have manifests in other trees than were looked for. */
const TRIES = 10;

export interface LocalManifests extends Manifests {
  /** Removes in its own time what ended manifests left on the disk. */
  sweep(manifests: readonly Manifest[]): void;
  /** Waits for what is being removed. */
  close(): Promise<void>;
}

export function createManifests(ledger: Ledger): LocalManifests {
  const sweeping = new Set<Promise<void>>();

  const step = <T>(trees: readonly Key[], body: (view: LedgerView) => Outcome<T>, once = false): Promise<T> =>
    ledger.transact([...new Set(trees)].sort(), body, once);
  const inTree = <T>({ resource }: { readonly resource: Key }, body: (view: LedgerView) => Outcome<T>, once = false) =>
    step([treeOf(resource)], body, once);

  const treesAt = (target: string): Key[] =>
    ledger.records
      .manifests({ target, state: "pending", after: null, limit: 1_000 })
      .map(({ resource }) => treeOf(resource));

  /** To be swept: not to know them is no reason to fail. */
  const endedAt = (target: string): Manifest[] => {
    try {
      return ledger.records.manifests({ target, state: null, after: null, limit: 100 });
    } catch {
      return [];
    }
  };

  const sweepOne = async (manifest: Manifest): Promise<void> => {
    try {
      for (const path of leftoversOf(manifest.tmpPath)) await removeTree(path);
      await inTree(manifest, (view) => clear(view, manifest));
    } catch {
      // It stays on record as not cleared: the next publish there, or doctor, tries again.
    }
  };

  const sweep = (manifests: readonly Manifest[]): void => {
    for (const manifest of manifests) {
      if (manifest.isCleared || manifest.state === "pending") continue;
      const work = sweepOne(manifest);
      sweeping.add(work);
      void work.then(() => sweeping.delete(work));
    }
  };

  return {
    async begin(grant, party, draft: ManifestDraft) {
      for (let tries = 1; ; tries += 1) {
        const trees = new Set([treeOf(grant.resource), ...treesAt(draft.target)]);
        const begun = await step(
          [...trees],
          (view) => {
            const isElsewhere = view
              .manifestsOf(draft.target)
              .some(({ state, resource }) => state === "pending" && !trees.has(treeOf(resource)));
            return isElsewhere && tries < TRIES ? { result: null, changes: null } : begin(view, grant, party, draft);
          },
          true,
        );
        if (begun === null) continue;
        sweep([...begun.settled, ...endedAt(draft.target)]);
        return begun.manifest;
      }
    },
    addFiles: (grant, manifest, files) => inTree(grant, (view) => addFiles(view, grant, manifest, files)),
    seal: (grant, manifest, facts, files) => inTree(grant, (view) => seal(view, grant, manifest, facts, files), true),
    commit: (grant, party, manifest, make) => inTree(grant, (view) => commit(view, grant, party, manifest, make), true),
    settle: async (manifest, party, mine) => {
      const ended = await inTree(manifest, (view) => settleOne(view, manifest, party, mine), true);
      if (!mine && ended !== null) sweep([ended]);
      return ended;
    },
    clear: (manifest) => inTree(manifest, (view) => clear(view, manifest)),
    list: async (page) => ledger.records.manifests(page),
    files: async (manifest, after, limit) => ledger.records.files(manifest, after, limit),
    sweep,
    async close() {
      await Promise.all(sweeping);
    },
  };
}
