/** Reports the progress of a wait to agent tools that requested progress messages. */

import { quoted, span } from "../quoting.js";
import type { Call } from "../tool.js";

const FIRST_MS = 500;
const EVERY_MS = 5_000;

/** Does `work`, which waits for these keys, and tells meanwhile who is in the way. */
export async function tellingOfTheWait<T>(
  call: Call,
  keys: readonly string[],
  waitS: number,
  work: Promise<T>,
): Promise<T> {
  if (waitS === 0) return work;
  const begun = performance.now();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const tell = async (): Promise<void> => {
    try {
      const message = await whoIsThere(call, keys);
      if (!isOver) await call.progress(Math.round((performance.now() - begun) / 100) / 10, waitS, message);
    } catch {
      // The wait itself says what is wrong.
    }
    if (!isOver) timer = setTimeout(() => void tell(), EVERY_MS);
  };
  timer = setTimeout(() => void tell(), FIRST_MS);
  try {
    return await work;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

async function whoIsThere({ run }: Call, keys: readonly string[]): Promise<string> {
  for (const key of keys) {
    const { holders, line } = await run.holdfast.explainNear(key);
    const [first] = holders;
    if (first !== undefined)
      return `waiting for ${key}: ${quoted(first.owner)} holds it, ${span(first.lease_remaining_s)} left, ${line.length} in line`;
  }
  return `waiting for ${keys.join(", ")}`;
}
