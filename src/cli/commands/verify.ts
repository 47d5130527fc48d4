/** `holdfast verify [ID | --all]`. */
import { HoldfastError, invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { openForReading, size } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const [id] = context.args("ID");
  if (id !== undefined && context.flags.has("all")) throw invalidArgument("all", "either a snapshot or --all");
  const worktrees = await openForReading(context);
  const verdict = await worktrees.verify(id ?? null, { signal: context.signal });
  if (!verdict.ok)
    throw new HoldfastError(
      "E_STORE_CORRUPT",
      [
        `${verdict.findings.length} findings`,
        ...verdict.findings.map((each) => `  ${each.snapshot_id ?? "-"}  ${each.path}: ${each.problem}`),
      ].join("\n"),
      {
        details: { ...verdict },
        next: ["Other snapshots may be whole: holdfast verify ID, then holdfast restore ID --to DIR."],
      },
    );
  return {
    data: verdict,
    text: () =>
      `as it was written: ${verdict.snapshots} snapshots, ${verdict.objects.toLocaleString("en-US")} objects, ${size(verdict.bytes)}`,
  };
}
