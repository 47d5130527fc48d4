/** Formats grants for people. */
import type { WaiterRecord } from "../../../client/reading/lock-status.js";
import type { GrantRecord } from "../../../lock/grant.js";
import { type Column, grid } from "../output/grid.js";
import type { Screen } from "../output/screen.js";
import { clockTime, secondsSince, secondsUntil, span } from "../output/times.js";

const GRANTS: readonly Column<GrantRecord>[] = [
  { title: "KEY", cell: (grant) => grant.resource, least: 10, good: 32 },
  { title: "MODE", cell: (grant) => (grant.mode === "upgradeable" ? "upgr" : grant.mode), drop: 2 },
  { title: "OWNER", cell: (grant) => grant.owner, least: 8, good: 16 },
  { title: "HOST:PID", cell: (grant) => where(grant.holder_id).short, drop: 4, least: 8 },
  { title: "SINCE", cell: (grant) => clockTime(grant.created_at), drop: 3 },
  { title: "LEFT", cell: leftOf, align: "right" },
  { title: "FENCE", cell: (grant) => String(grant.fencing_token), align: "right", drop: 5 },
];

export function grantTable(
  grants: readonly GrantRecord[],
  screen: Pick<Screen, "width" | "paint">,
  indent = 0,
): string {
  return grid(GRANTS, grants, screen, indent);
}

const WAITERS: readonly Column<WaiterRecord & { readonly position: number }>[] = [
  { title: "#", cell: (waiter) => String(waiter.position), align: "right" },
  { title: "OWNER", cell: (waiter) => waiter.owner, least: 8 },
  {
    title: "WANTS",
    cell: (waiter) => waiter.wants.map((want) => `${want.mode} ${want.resource}`).join(", "),
    least: 10,
  },
  { title: "WAITING", cell: (waiter) => span(secondsSince(waiter.waiting_since)), align: "right" },
];

export function waiterTable(
  waiters: readonly WaiterRecord[],
  screen: Pick<Screen, "width" | "paint">,
  indent = 0,
): string {
  return grid(
    WAITERS,
    waiters.map((waiter, at) => ({ ...waiter, position: at + 1 })),
    screen,
    indent,
  );
}

/** How long the lease lasts still. */
export function leftOf({ lease_expires_at }: Pick<GrantRecord, "lease_expires_at">): string {
  const left = secondsUntil(lease_expires_at);
  return left > 0 ? span(left) : "expired";
}

/** A holder id in words: `host:user:pid:start_time`, where only the host may have colons. */
export function where(holderId: string): { readonly short: string; readonly long: string } {
  const parts = holderId.split(":");
  const [user = "?", pid = "?"] = parts.slice(-3);
  const host = parts.slice(0, -3).join(":") || "?";
  return { short: `${host}:${pid}`, long: `${host}, as ${user}, pid ${pid}` };
}
