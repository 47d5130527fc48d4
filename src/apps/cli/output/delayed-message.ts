/** Shows a message on the terminal when some work takes long. */
import type { Screen } from "./screen.js";
import { isTerminal } from "./standard-streams.js";

/** A wait shorter than this needs no word. */
const SILENT_MS = 400;

/** The result of `work`. What it waits for is told when it takes long, and not once it is over: then others write there. */
export async function tellingLater<T>(
  screen: Screen,
  text: () => string | Promise<string>,
  work: Promise<T>,
): Promise<T> {
  if (screen.json || screen.quiet || !isTerminal(2)) return work;
  let isOver = false;
  const tell = async (): Promise<void> => {
    const words = await text();
    if (!isOver) screen.say(words);
  };
  const timer = setTimeout(() => void tell().catch(() => undefined), SILENT_MS);
  try {
    return await work;
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
