/**
 * The endpoint `lock`: one key with the grants around it, its queue and whom each waiter waits for, and its latest
 * events.
 */
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import type { LockView } from "../views.js";

const ENTRIES = 20;

export async function lock({ holdfast, trail }: Sources, query: Query): Promise<Omit<LockView, "now">> {
  const { status, holders, line } = await holdfast.explainNear(query.required("key"));
  const { resource, state, profile, fencing_token } = status;
  const { entries } = await trail.newest({ resource }, ENTRIES);
  return { resource, state, profile, fencing_token, holders, line, entries };
}
