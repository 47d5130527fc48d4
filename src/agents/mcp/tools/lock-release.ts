/** The tool `lock_release`: releases locks of the run. */
import * as z from "zod";
import { listed } from "../quoting.js";
import { namedKeys } from "../run/wanted-keys.js";
import { defineTool, keys, LIST } from "../tool.js";

export const lockRelease = defineTool({
  name: "lock_release",
  description: "Give locks back; without arguments all you hold.",
  purpose: "held",
  isIdempotent: true,
  input: z.strictObject({ paths: keys, keys }),
  output: { released: LIST },
  async call(args, { run: { holdings }, run: own }) {
    const isAll = args.keys === undefined && args.paths === undefined;
    const released = await holdings.release(isAll ? null : namedKeys(own, args));
    return {
      data: { released },
      text: released.length === 0 ? "Nothing was held, nothing was released." : `Released: ${listed(released)}.`,
    };
  },
});
