/** Reads `--wait` for issues, gates and jobs. The wait is bounded; the default is ten minutes. */
import { parseDuration } from "../../../base/duration.js";
import { HoldfastError } from "../../../base/errors.js";
import type { ContextWith } from "../command.js";
import { inWords } from "../output/times.js";

const DEFAULT_WAIT = "10m";

/** `late` is the sentence for when the time was up, and `look` the command that shows why: `E_LOCK_TIMEOUT`. */
export async function waitingFor<T>(
  context: ContextWith<{ readonly wait: string | undefined }>,
  { late, look }: { readonly late: string; readonly look: string },
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ms = parseDuration(context.flags.wait ?? DEFAULT_WAIT, "wait", { atLeastMs: 0, atMostMs: 24 * 3_600_000 });
  const over = AbortSignal.timeout(ms);
  try {
    return await wait(AbortSignal.any([context.signal, over]));
  } catch (error) {
    if (!over.aborted || error !== over.reason) throw error;
    const message = `${late} within ${inWords(ms)}`;
    throw new HoldfastError("E_LOCK_TIMEOUT", message, { details: { waited_ms: ms }, next: [look] });
  }
}
