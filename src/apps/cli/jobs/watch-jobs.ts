/** `holdfast job list --watch`: draws lanes on a terminal, and elsewhere prints a line for each change. */

import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { sleep } from "../../../base/sleep.js";
import type { Jobs, Lanes } from "../../../jobs.js";
import type { ContextWith } from "../command.js";
import { showLive } from "../output/live-screen.js";
import { clockTime } from "../output/times.js";
import { lanesLine, lanesPicture } from "./lanes-text.js";

const EVERY_MS = 500;

interface ListFlags {
  readonly project: string | undefined;
  readonly state: string | undefined;
  readonly limit: number | undefined;
  readonly after: number | undefined;
}

/** `E_INVALID_ARGUMENT` for what makes no sense with it. */
export async function watchJobs({ screen, signal, flags }: ContextWith<ListFlags>, jobs: Jobs): Promise<void> {
  const odd = (["state", "limit", "after"] as const).find((name) => flags[name] !== undefined);
  if (odd !== undefined) throw invalidArgument(odd, "is not for --watch");
  const { project } = flags;
  const look = (): Promise<Lanes> => jobs.lanes(given({ project }));
  await look(); // What is odd is told before the screen is taken.
  const untilChange = (): Promise<void> => sleep(EVERY_MS, signal).catch(() => undefined);
  if (screen.isTerminal && !screen.json && !screen.quiet) {
    const lines = async () => lanesPicture(await look(), screen);
    await showLive(screen, signal, { lines, untilChange });
    return;
  }
  for (let told = ""; !signal.aborted; await untilChange()) {
    const lanes = await look();
    const line = lanesLine(lanes);
    if (line !== told) screen.stream(lanes, () => `${clockTime(new Date().toISOString())}  ${line}`);
    told = line;
  }
}
