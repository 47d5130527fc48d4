/** `holdfast audit verify`: a bad chain is a failure of its own, with the first bad entry of each. */
import { HoldfastError } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";

export async function run(context: Context): Promise<Outcome> {
  const prefix = context.flags.text("prefix");
  const holdfast = await context.openForReading();
  const verdict = (await holdfast?.audit.verify(prefix === undefined ? {} : { resource: prefix })) ?? {
    ok: true,
    chains: 0,
    entries: 0,
    bad: [],
  };
  const [first] = verdict.bad;
  if (first !== undefined)
    throw new HoldfastError(
      "E_STORE_CORRUPT",
      `the record is not as it was written: ${verdict.bad.map((bad) => `${bad.tree} at entry ${bad.seq}: ${bad.why}`).join("; ")}`,
      { details: { ...verdict }, next: [`holdfast audit list --prefix ${first.tree}`] },
    );
  const { chains, entries } = verdict;
  return { data: verdict, text: () => `${entries} entries in ${chains} chains, all as they were written` };
}
