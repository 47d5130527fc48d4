/**
 * Finds tokens of detached grants that are kept for this user and open nothing. A token is kept before its lock is
 * requested, and a wait lasts a day at most: only an older token is certain never to open anything.
 */

import { isAbandoned } from "../../../client/workspace/detached-grants.js";
import { tokenFolderOf } from "../../../client/workspace/find-workspace.js";
import { allTokens, type FoundToken } from "../../../client/workspace/token-files.js";
import { removeQuietly } from "../../../files/durable-file.js";
import type { Key } from "../../../lock/key.js";
import { hashLeaseToken } from "../../../lock/lease-token.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";

/** Younger ones are on their way to a grant. */
const ON_ITS_WAY_MS = 60_000;

export const keptTokens: Check = {
  name: "kept tokens",
  async look(patient): Promise<readonly Diagnosis[]> {
    const store = storeOf(patient);
    if (store === null) return [];
    const now = patient.clock().wallMs;
    const orphans: FoundToken[] = [];
    for (const kept of allTokens(tokenFolderOf(patient.workspace, patient.env))) {
      if (now - Date.parse(kept.created_at) < ON_ITS_WAY_MS) continue;
      const opens = hashLeaseToken(kept.lease_token);
      // mutant: postgres-doctor-tokens: inspect(kept.resource as Key, [opens]); → inspect(kept.resource as Key);
      const { grants } = await store.reader.inspect(kept.resource as Key, [opens]);
      if (!grants.some(({ tokenHash }) => tokenHash === opens)) orphans.push(kept);
    }
    const old = orphans.filter((kept) => isAbandoned(kept, now));
    const young = orphans.filter((kept) => !old.includes(kept));
    return [...describe(young, false), ...describe(old, true)];
  },
};

function describe(orphans: readonly FoundToken[], isSafe: boolean): Diagnosis[] {
  if (orphans.length === 0) return [];
  const some = [...new Set(orphans.map(({ resource }) => resource))].slice(0, 3).join(", ");
  const finding: Diagnosis = {
    code: "TOKEN_ORPHAN",
    message: `${orphans.length} lease tokens are kept for grants that are gone (${some})`,
    next: ["Nothing needs to be done: they open nothing, and go a day after they were kept."],
  };
  if (!isSafe) return [finding];
  return [
    {
      ...finding,
      async repair() {
        for (const { path } of orphans) removeQuietly(path);
        return `removed ${orphans.length} tokens that opened nothing`;
      },
    },
  ];
}
