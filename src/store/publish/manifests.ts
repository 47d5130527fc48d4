/** The publish records of a store on a ledger: each call is one step on the trees of the manifests it concerns. */
import { type Key, treeOf } from "../../lock/key.js";
import { treesOfManifest } from "../../lock/manifest.js";
import type { Witness } from "../../lock/profile.js";
import type { ManifestDraft, Manifests } from "../contract.js";
import type { Ledger, LedgerView, Outcome } from "../ledger.js";
import { addFiles, type Begun, begin, clear, commit, seal, settleOne } from "../operations/publish.js";
import { createSweeper, type Sweeper } from "./sweeper.js";

/** A target may turn out to have manifests in other trees than were looked for. */
const TRIES = 10;

export interface LocalManifests extends Manifests, Sweeper {}

export function createManifests(ledger: Ledger, witness: Witness): LocalManifests {
  const transact = <T>(trees: readonly Key[], body: (view: LedgerView) => Outcome<T>, once = false) => {
    const inPlace = (view: LedgerView): Outcome<T> => {
      // mutant: publish-in-place: ledger.assertInPlace(); →
      ledger.assertInPlace();
      return body(view);
    };
    return ledger.transact(trees, inPlace, once);
  };
  const inTree = <T>({ resource }: { readonly resource: Key }, body: (view: LedgerView) => Outcome<T>, once = false) =>
    transact([treeOf(resource)], body, once);

  const { sweep, close } = createSweeper((manifest) => inTree(manifest, (view) => clear(view, manifest)));

  return {
    async begin(grant, party, draft: ManifestDraft) {
      const trees = new Set(treesOfManifest({ resource: grant.resource, pathKey: draft.pathKey }));
      for (let tries = 1; ; tries += 1) {
        const begun = await transact([...trees].sort(), (view): Outcome<Begun | readonly Key[]> => {
          const elsewhere = view
            .manifestsOf(draft.target)
            .filter(({ state }) => state === "pending")
            .flatMap(treesOfManifest)
            .filter((tree) => !trees.has(tree));
          return elsewhere.length > 0 && tries < TRIES
            ? { result: elsewhere, changes: null }
            : begin(view, grant, party, draft, witness);
        });
        if ("manifest" in begun) {
          sweep(begun.uncleared);
          return begun.manifest;
        }
        for (const tree of begun) trees.add(tree);
      }
    },
    async claim() {},
    addFiles: (grant, manifest, files) => inTree(grant, (view) => addFiles(view, grant, manifest, files)),
    seal: (grant, manifest, facts, files) => inTree(grant, (view) => seal(view, grant, manifest, facts, files)),
    commit: (grant, party, manifest, make, also = []) =>
      transact(treesOfManifest(manifest), (view) => commit(view, [grant, ...also], party, manifest, make)),
    onDisk: ({ standStill } = { standStill: false }) => ledger.sync(standStill),
    settle: async (manifest, party, mine) => {
      const body = (view: LedgerView) => settleOne(view, manifest, party, mine, witness);
      const ended = await transact(treesOfManifest(manifest), body, true);
      if (!mine && ended !== null) sweep([ended]);
      return ended;
    },
    clear: (manifest) => inTree(manifest, (view) => clear(view, manifest)),
    list: async (page) => ledger.records.manifests(page),
    files: async (manifest, after, limit) => ledger.records.files(manifest, after, limit),
    sweep,
    close,
  };
}
