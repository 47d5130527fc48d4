/** Locks the folder of a deliverable; renews, ends and shows its lock. */
import { given } from "../../../base/given.js";
import type { ContextWith, Outcome } from "../command.js";
import { recoveredText, statusText, untilText } from "./deliverable-text.js";
import { deliverableOf } from "./open-deliverable.js";

interface Folder {
  readonly DIR: string;
}

interface LockFlags {
  readonly ttl: string | undefined;
  readonly pid: number | undefined;
  readonly id: string | undefined;
}

export async function lockDeliverable(context: ContextWith<LockFlags, Folder>): Promise<Outcome> {
  const { id, pid, ttl } = context.flags;
  const deliverable = deliverableOf(context, context.args.DIR, id);
  const bound = pid === undefined ? { detached: true } : { pid };
  const { record, token, recovered } = await deliverable.lock({ ...given({ ttl }), ...bound });
  return {
    data: { lock: { ...record, lease_token: token }, recovered },
    text: (screen) =>
      `${screen.paint("green", "locked")} ${deliverable.folder}\nfor ${record.holder} ${untilText(record)}, fencing token ${record.fencing_token}`,
    notes: recovered === null ? [] : [recoveredText(recovered)],
  };
}

interface UnlockFlags {
  readonly terminate: boolean;
  readonly token: string | undefined;
}

export async function unlockDeliverable(context: ContextWith<UnlockFlags, Folder>): Promise<Outcome> {
  const { terminate, token } = context.flags;
  const deliverable = deliverableOf(context, context.args.DIR);
  await deliverable.unlock({ ...given({ token }), terminate });
  return {
    data: { folder: deliverable.folder, unlocked: true, terminated: terminate },
    text: (screen) => `${screen.paint("green", terminate ? "terminated" : "unlocked")} ${deliverable.folder}`,
  };
}

interface RenewFlags {
  readonly ttl: string | undefined;
  readonly token: string | undefined;
}

export async function renewDeliverable(context: ContextWith<RenewFlags, Folder>): Promise<Outcome> {
  const { token, ttl } = context.flags;
  const deliverable = deliverableOf(context, context.args.DIR);
  const lock = await deliverable.renew(given({ token, ttl }));
  return {
    data: { lock },
    text: (screen) =>
      `${screen.paint("green", "renewed")} ${deliverable.folder}\nfor ${lock.holder} ${untilText(lock)}`,
  };
}

export async function lookAtDeliverable(context: ContextWith<unknown, Folder>): Promise<Outcome> {
  const deliverable = await deliverableOf(context, context.args.DIR).status();
  return { data: { deliverable }, text: (screen) => statusText(deliverable, screen) };
}

export async function recoverDeliverable(context: ContextWith<unknown, Folder>): Promise<Outcome> {
  const deliverable = deliverableOf(context, context.args.DIR);
  const { folder } = deliverable;
  const recovered = await deliverable.recover();
  return {
    data: { folder, recovered },
    text: () =>
      recovered === null
        ? `${folder} is free: there was nothing to recover`
        : `${recoveredText(recovered)}\n${folder} is free`,
  };
}
