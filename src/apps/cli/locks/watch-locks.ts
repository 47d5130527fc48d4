/**
 * Shows locks as they change. On a terminal the table is redrawn every second and at every change; elsewhere each
 * change is a line. A renewal does not count as a change.
 */

import { given } from "../../../base/given.js";
import { sleep } from "../../../base/sleep.js";
import type { Holdfast } from "../../../client/holdfast.js";
import type { GrantRecord } from "../../../lock/grant.js";
import type { ContextWith, Outcome } from "../command.js";
import { showLive } from "../output/live-screen.js";
import type { Screen } from "../output/screen.js";
import { clockTime } from "../output/times.js";
import { grantTable, leftOf, waiterTable } from "./grants-text.js";

const SHOWN = 1_000;
const REDRAW_MS = 1_000;

export async function watchLocks(
  context: ContextWith<unknown, { readonly KEY: string | undefined }>,
): Promise<Outcome> {
  const holdfast = (await context.openForReading()) ?? (await context.openHoldfast());
  const { signal, screen } = context;
  const key = context.args.KEY;
  if (key !== undefined) await holdfast.inspect(key); // A bad key is told before the screen is taken.
  if (screen.isTerminal && !screen.json && !screen.quiet) await live(holdfast, key, screen, signal);
  else if (key === undefined) await streamAll(holdfast, screen, signal);
  else await streamKey(holdfast, key, screen, signal);
  return {};
}

async function streamKey(holdfast: Holdfast, key: string, screen: Screen, signal: AbortSignal): Promise<void> {
  for await (const status of holdfast.watch(key, { signal }))
    screen.stream(
      status,
      () => `${clockTime(new Date().toISOString())}  ${key}  ${status.state}  ${brief(status.grants)}`,
    );
}

async function streamAll(holdfast: Holdfast, screen: Screen, signal: AbortSignal): Promise<void> {
  const changes = holdfast.audit.follow({ signal });
  const tell = async (): Promise<void> => {
    const grants = await holdfast.list({ limit: SHOWN });
    screen.stream({ grants }, () => `${clockTime(new Date().toISOString())}  ${grants.length} held  ${brief(grants)}`);
  };
  await tell();
  for await (const _ of changes) await tell();
}

function brief(grants: readonly GrantRecord[]): string {
  return grants
    .slice(0, 5)
    .map((grant) => `${grant.resource} ${grant.mode} ${grant.owner} ${leftOf(grant)}`)
    .join("; ");
}

async function live(holdfast: Holdfast, key: string | undefined, screen: Screen, signal: AbortSignal): Promise<void> {
  await showLive(screen, signal, {
    lines: () => picture(holdfast, key, screen),
    untilChange: () => untilChange(holdfast, key, signal),
  });
}

/** Returns at the next change, or when the countdown is to be drawn anew. */
async function untilChange(holdfast: Holdfast, key: string | undefined, signal: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const tree = key?.split("/", 1)[0];
  const changes = holdfast.audit.follow({ signal: either, ...given({ resource: tree }) });
  await Promise.race([changes.next(), sleep(REDRAW_MS, either).catch(() => undefined)]);
  stop.abort();
}

async function picture(holdfast: Holdfast, key: string | undefined, screen: Screen): Promise<string[]> {
  const status = key === undefined ? null : await holdfast.inspect(key);
  const grants = status?.grants ?? (await holdfast.list({ limit: SHOWN }));
  const title = `${key ?? "all locks"}: ${grants.length} held, ${clockTime(new Date().toISOString())} (Ctrl-C ends)`;
  const lines = [screen.paint("bold", title.slice(0, screen.width)), ""];
  lines.push(...(grants.length === 0 ? ["nothing is held"] : grantTable(grants, screen).split("\n")));
  if (status !== null && status.waiters.length > 0)
    lines.push("", "in line", ...waiterTable(status.waiters, screen, 2).split("\n"));
  return lines;
}
