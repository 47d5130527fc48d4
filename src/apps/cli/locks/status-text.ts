/** Formats the status of a key for people. */
import type { LockStatus } from "../../../client/reading/lock-status.js";
import type { Screen } from "../output/screen.js";
import { grantTable, waiterTable } from "./grants-text.js";

export function statusText(status: LockStatus, screen: Screen): string {
  const { resource, state, grants, waiters, profile, permits } = status;
  const color = state === "free" ? "green" : state === "held" ? "yellow" : "red";
  const taken = permits === null ? "" : `, permits ${permits.taken} of ${permits.total} taken`;
  const parts = [`${screen.paint("bold", resource)} is ${screen.paint(color, state)} (profile ${profile})${taken}`];
  if (grants.length > 0) parts.push(grantTable(grants, screen, 2));
  else if (state === "held") parts.push("  a record of it cannot be read: run holdfast doctor");
  if (waiters.length > 0) parts.push("in line", waiterTable(waiters, screen, 2));
  return parts.join("\n");
}
