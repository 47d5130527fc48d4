/** The tool `lock_renew`: renews the locks of the run. */
import * as z from "zod";
import { OWN_GRANTS, ownGrant, ownLine } from "../grants.js";
import { defineTool, ttlS } from "../tool.js";

export const lockRenew = defineTool({
  name: "lock_renew",
  description: "Renew and list all you hold, and learn what you lost. Any other call renews too.",
  purpose: "held",
  isIdempotent: true,
  input: z.strictObject({ ttl_s: ttlS }),
  output: { grants: OWN_GRANTS },
  async call(args, { run: { holdings } }) {
    await holdings.renewAll(args.ttl_s === undefined ? undefined : args.ttl_s * 1_000);
    const grants = holdings.grants.map(ownGrant);
    const lines =
      grants.length === 0 ? ["You hold nothing."] : ["You hold:", ...grants.map((each) => `- ${ownLine(each)}`)];
    return { data: { grants }, text: lines.join("\n") };
  },
});
