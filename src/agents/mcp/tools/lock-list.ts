/** The tool `lock_list`: lists the locks that are held in the workspace. */
import * as z from "zod";
import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { toLasting } from "../../../client/reading/lock-status.js";
import { SEEN_GRANTS, seenGrant, seenLine } from "../grants.js";
import { defineTool, limit, NEXT } from "../tool.js";

const DEFAULT_LIMIT = 50;

export const lockList = defineTool({
  name: "lock_list",
  description: "All locks held in the workspace, by anyone.",
  purpose: "look",
  input: z.strictObject({
    prefix: z.string().optional().describe("only this key and below; files are under path/"),
    limit,
    after: z.string().optional().describe("`next` of the page before"),
  }),
  output: { locks: SEEN_GRANTS, next: NEXT },
  async call({ prefix, limit: most = DEFAULT_LIMIT, after }, { run }) {
    const found = await run.holdfast.listAs(toLasting, {
      limit: most,
      ...given({ prefix }),
      ...(after === undefined ? {} : { after: placeOf(after) }),
    });
    const last = found.at(-1);
    const next = found.length < most || last === undefined ? null : `${last.resource} ${last.lock_id}`;
    const locks = found.map(seenGrant);
    const lines = locks.length === 0 ? ["Nothing is held."] : locks.map((each) => `- ${seenLine(each)}`);
    if (next !== null) lines.push(`There may be more: lock_list with after ${JSON.stringify(next)}.`);
    return { data: { locks, next }, text: lines.join("\n") };
  },
});

function placeOf(after: string): { readonly resource: string; readonly lock_id: string } {
  const [resource, lockId, more] = after.split(" ");
  if (!resource || !lockId || more !== undefined) throw invalidArgument("after", "is the `next` of an earlier page");
  return { resource, lock_id: lockId };
}
