/** Takeovers, read from the audit chain: who took over from whom, why, and how long the lock had been without a holder. */
import type { AuditEntry } from "../index.js";
import type { Kill } from "./crew.js";

export interface Takeover {
  readonly name: string;
  readonly from: string;
  readonly file: string;
  readonly isDead: boolean;
  /** From the kill, or from the end of the lease, to the next grant. Null when nobody killed the one called dead. */
  readonly ms: number | null;
}

interface StolenDetails {
  readonly reason: "lease_expired" | "process_dead";
  readonly evidence: { readonly expired_for_ms: number };
  readonly previous: { readonly owner: string; readonly metadata: { readonly pid?: number } };
}

/** The takeover this entry tells of, or null when it tells of something else. */
export function toTakeover(entry: AuditEntry, kills: readonly Kill[]): Takeover | null {
  if (entry.event !== "stolen") return null;
  const { reason, evidence, previous } = entry.details as unknown as StolenDetails;
  const isDead = reason === "process_dead";
  return {
    name: nameOf(entry.owner),
    from: nameOf(previous.owner),
    file: entry.resource.slice(entry.resource.indexOf("/") + 1),
    isDead,
    ms: isDead ? sinceKill(entry, previous.metadata.pid, kills) : evidence.expired_for_ms,
  };
}

function sinceKill(entry: AuditEntry, pid: number | undefined, kills: readonly Kill[]): number | null {
  const kill = kills.find((each) => each.pid === pid);
  return kill === undefined ? null : Math.max(0, Math.round(Date.parse(entry.at) - kill.at));
}

function nameOf(owner: string): string {
  return owner.slice(owner.indexOf(":") + 1);
}
