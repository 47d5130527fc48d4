/** The tool `lock_status`: shows the holders and the queue of a key. */
import * as z from "zod";
import { invalidArgument } from "../../../base/errors.js";
import { circleText } from "../../../client/reading/circles.js";
import { SEEN_GRANTS, seenGrant, seenLine } from "../grants.js";
import { quoted } from "../quoting.js";
import { wantedKeys } from "../run/wanted-keys.js";
import { defineTool, listOf, NUMBER, TEXT } from "../tool.js";

export const lockStatus = defineTool({
  name: "lock_status",
  description: "Who holds a path or key, on it, above or below, and who waits. Takes nothing.",
  purpose: "look",
  input: z.strictObject({ path: z.string().optional(), key: z.string().optional() }),
  output: {
    key: TEXT,
    state: { enum: ["free", "held", "expired"] },
    holders: SEEN_GRANTS,
    waiters: listOf({ owner: TEXT, position: NUMBER }),
  },
  async call({ path, key }, { run }) {
    const [wanted, other] = wantedKeys(run, {
      keys: key === undefined ? [] : [key],
      paths: path === undefined ? [] : [path],
    });
    if (wanted === undefined || other !== undefined) throw invalidArgument("key", "give a path or a key, not both");
    const { status, holders: held, line, circles = [] } = await run.holdfast.explain(wanted);
    const holders = held.map(seenGrant);
    const waiters = line.map(({ owner, position }) => ({ owner, position }));
    const lines = [
      `${wanted} is ${status.state}.`,
      ...holders.map((grant) => `- ${seenLine(grant)}`),
      ...waiters.map(({ owner, position }) => `- waits, ${position} in line: ${quoted(owner)}`),
      ...circles.map((circle) => `- circle, each waits for the next: ${quoted(circleText(circle))}`),
    ];
    return { data: { key: wanted, state: status.state, holders, waiters }, text: lines.join("\n") };
  },
});
