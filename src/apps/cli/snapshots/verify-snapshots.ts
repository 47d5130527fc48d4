/** Reads snapshots whole and compares them with their hashes. */

import { count, size } from "../../../base/count-text.js";
import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import type { ContextWith, Outcome } from "../command.js";
import { openForReading } from "./worktrees.js";

export async function verifySnapshots(
  context: ContextWith<{ readonly all: boolean }, { readonly ID: string | undefined }>,
): Promise<Outcome> {
  const { ID: id } = context.args;
  if (id !== undefined && context.flags.all) throw invalidArgument("all", "either a snapshot or --all");
  const worktrees = await openForReading(context);
  const verdict = await worktrees.verify(id ?? null, { signal: context.signal });
  if (!verdict.ok)
    throw new HoldfastError(
      "E_STORE_CORRUPT",
      [
        count(verdict.findings.length, "finding"),
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
      `as it was written: ${count(verdict.snapshots, "snapshot")}, ${count(verdict.objects, "object")}, ${size(verdict.bytes)}`,
  };
}
