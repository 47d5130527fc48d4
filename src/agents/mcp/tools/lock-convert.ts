/** The tool `lock_convert`: converts locks of the run from reading to writing and back. */
import * as z from "zod";
import { OWN_GRANTS, ownGrant, ownLine } from "../grants.js";
import { tellingOfTheWait } from "../run/wait-progress.js";
import { defineTool, waitS } from "../tool.js";

export const lockConvert = defineTool({
  name: "lock_convert",
  description: "Change a lock you hold: upgradeable to write, or write to read.",
  purpose: "held",
  input: z.strictObject({ key: z.string(), to: z.enum(["read", "write"]), wait_s: waitS }),
  output: { grants: OWN_GRANTS },
  async call({ key, to, wait_s: wait = 0 }, call) {
    const { holdings } = call.run;
    const lock = await holdings.lock(key);
    if (to === "read") await lock.downgrade();
    else await tellingOfTheWait(call, [key], wait, lock.upgrade({ wait: wait * 1_000, signal: call.signal }));
    await holdings.reread(key);
    const grants = lock.lasting.map(ownGrant);
    return { data: { grants }, text: `Now: ${grants.map(ownLine).join("; ")}.` };
  },
});
