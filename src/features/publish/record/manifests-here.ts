/** Iterates over the recorded manifests whose targets this process sees. */
import type { ManifestPage, Manifests } from "../../../client/kernel.js";
import { isHere } from "../../../files/target-mark.js";
import type { Manifest } from "../../../lock/manifest.js";

const PAGE = 1_000;

/** Manifests on record, oldest first, whose targets this process sees. */
export async function* manifestsHere(
  manifests: Pick<Manifests, "list">,
  { target = null, state = null }: Partial<Pick<ManifestPage, "target" | "state">> = {},
): AsyncGenerator<Manifest> {
  for (let after: Manifest | null = null; ; ) {
    const page: readonly Manifest[] = await manifests.list({ target, state, after, limit: PAGE });
    for (const manifest of page) if (isHere(manifest)) yield manifest;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last;
  }
}
