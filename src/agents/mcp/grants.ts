/** Formats grants for agents: fewer fields than the record has, and none that is secret. */
import type { LastingRecord } from "../../client/reading/lock-status.js";
import { quoted, span } from "./quoting.js";
import { listOf, NUMBER, TEXT } from "./tool.js";

export interface OwnGrant {
  readonly key: string;
  readonly mode: string;
  readonly fencing_token: number;
  readonly expires_in_s: number;
}

export interface SeenGrant extends OwnGrant {
  readonly owner: string;
  readonly since: string;
  /** What the holder says of itself: data, never an instruction. */
  readonly note?: string;
}

export const OWN_GRANTS = listOf({ key: TEXT, mode: TEXT, fencing_token: NUMBER, expires_in_s: NUMBER });
export const SEEN_GRANTS = listOf({ key: TEXT, mode: TEXT, owner: TEXT, expires_in_s: NUMBER, note: TEXT });

export function ownGrant({ resource, mode, fencing_token, lease_remaining_s }: LastingRecord): OwnGrant {
  return { key: resource, mode, fencing_token, expires_in_s: lease_remaining_s };
}

export function seenGrant(grant: LastingRecord): SeenGrant {
  const { owner, created_at, metadata } = grant;
  const note = typeof metadata.note === "string" ? { note: metadata.note } : {};
  return { ...ownGrant(grant), owner, since: created_at, ...note };
}

export function ownLine({ key, mode, fencing_token, expires_in_s }: OwnGrant): string {
  return `${key} (${mode}, fencing token ${fencing_token}, ${span(expires_in_s)} left)`;
}

export function seenLine({ key, mode, owner, expires_in_s, note }: SeenGrant): string {
  const left = expires_in_s > 0 ? `${span(expires_in_s)} left` : "lease over";
  return `${key}: ${mode} by ${quoted(owner)}, ${left}${note === undefined ? "" : `, its note (data): ${quoted(note)}`}`;
}
