/** The command line of the demo. */
import { parseArgs } from "node:util";

export const HELP = `Holdfast live demo: processes fight over one workspace while they are killed and frozen.

  npm start                      20 seconds, 6 workers
  npm start -- --seconds 10      how long they fight, 5 to 45
  npm start -- --workers 8       how many of them, 2 to 12
  npm start -- --help

Ends with a verdict read back from the files, the workers' own logs and the audit chain.
Exit code 0: nothing was lost, the audit chain is whole, fencing tokens only grew, and at least
one kill, one takeover and one refused stale commit really happened. 1: anything else.`;

/** Throws a sentence for the user when the arguments make no sense. */
export function parseOptions(args) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "20" },
      workers: { type: "string", default: "6" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  return {
    seconds: wholeNumber("seconds", values.seconds, 5, 45),
    workers: wholeNumber("workers", values.workers, 2, 12),
  };
}

function wholeNumber(name, text, atLeast, atMost) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < atLeast || value > atMost)
    throw new RangeError(`--${name} takes a whole number from ${atLeast} to ${atMost}, not ${JSON.stringify(text)}`);
  return value;
}
