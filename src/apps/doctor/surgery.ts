/** Opens the store of a workspace for what the doctor changes, in the name of the workspace's owner. */
import type { Workspace } from "../../features/configuration.js";
import { createSystemClock } from "../../platform/clock.js";
import { newNonce } from "../../platform/liveness/proof-of-life.js";
import { holderIdOf } from "../../platform/machine.js";
import { openStore } from "../../store/open.js";
import type { Surgery } from "./check.js";

export async function withSurgery<T>(
  { store: url, owner, record }: Workspace,
  operate: (surgery: Surgery) => Promise<T>,
): Promise<T> {
  const expectedId = url === record?.store.url ? record.store.id : undefined;
  const clock = createSystemClock();
  const store = await openStore(url, {}, clock, expectedId);
  try {
    const nonce = newNonce();
    const holderId = holderIdOf();
    const party = { owner, holderId, nonce, proof: store.prove(nonce, { owner, holder_id: holderId }) };
    return await operate({ store, clock, party });
  } finally {
    await store.close();
  }
}
