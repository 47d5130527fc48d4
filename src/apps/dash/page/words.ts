/** Formats names for people. Pure. */
import { number } from "../../../base/count-text.js";

interface Place {
  readonly host: string;
  readonly user: string;
  readonly pid: string;
}

/** A holder id is `host:user:pid:start_time`, where only the host may have colons. */
function placeOf(holderId: string): Place {
  const parts = holderId.split(":");
  const [user = "?", pid = "?"] = parts.slice(-3);
  return { host: parts.slice(0, -3).join(":") || "?", user, pid };
}

/** Without the domain of the host. */
export function shortPlace(holderId: string): string {
  const { host, pid } = placeOf(holderId);
  return `${/^[\d.]+$|:/.test(host) ? host : host.split(".")[0]}:${pid}`;
}

export function longPlace(holderId: string): string {
  const { host, user, pid } = placeOf(holderId);
  return `${host}, as ${user}, pid ${pid}`;
}

const NAMED = 3;

/** `agent:a, agent:b, agent:c and 4 more`, each once. */
export function someOf(names: readonly string[]): string {
  const different = [...new Set(names)];
  const more = different.length - NAMED;
  return `${different.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${number(more)} more` : ""}`;
}

/** The last part of a path. */
export function folderName(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;
}

/** Why an entry of the record was made, where it says so. */
export function whyOf(event: string, details: Readonly<Record<string, unknown>>): string {
  if (event === "refused" && typeof details.owner === "string") return `${details.owner} had it`;
  const previous = details.previous as { readonly owner?: unknown } | null | undefined;
  const reason = typeof details.reason === "string" ? details.reason.replaceAll("_", " ") : "";
  const change = typeof details.change === "string" ? details.change : "";
  const from = typeof previous?.owner === "string" ? `from ${previous.owner}` : "";
  return [change, reason, from].filter(Boolean).join(", ");
}
