/** Reads grants, waiters and audit entries from the server, without any lock. */
import type { Key } from "../../lock/key.js";
import type { Settings } from "../../lock/settings.js";
import { readEntry } from "../../lock/stored-entry.js";
import type { Clock } from "../../platform/clock.js";
import type { AuditVerdict, Reader } from "../contract.js";
import { call } from "./connection/call.js";
import type { Connection } from "./connection/connection.js";
import { digestOf } from "./locks/token-digest.js";
import { readGrants, readTickets, type TellsTime, type ToldGrant, type ToldTicket } from "./records.js";

interface ToldInspection extends TellsTime {
  readonly grants: readonly ToldGrant[];
  readonly waiters: readonly ToldTicket[];
  readonly unreadable: readonly Key[];
  /** Those of them that a newer version wrote. */
  readonly newer: readonly Key[];
  readonly fencing_token: number;
}

export function createReader(connection: Connection, store: string, settings: Settings, clock: Clock): Reader {
  return {
    life: () => "unknown",
    async inspect(resource, known = []) {
      const told = await connection.ask<ToldInspection>(() =>
        call("inspect", { key: resource, tokens: known.map(digestOf), store }),
      );
      return {
        resource,
        grants: readGrants(told, clock, known),
        waiters: readTickets(told, clock),
        unreadable: told.unreadable.map((key) =>
          told.newer.includes(key)
            ? { resource: key, why: "written by a newer version", isNewer: true }
            : { resource: key, why: "damaged" },
        ),
        fencingToken: told.fencing_token,
        settings,
      };
    },
    async list({ prefix, stem = null, after, limit, known = [] }) {
      const told = await connection.ask<TellsTime & { readonly grants: readonly ToldGrant[] }>(() =>
        call("list", {
          prefix,
          after_resource: after?.resource ?? null,
          after_lock_id: after?.lockId ?? null,
          page: limit,
          tokens: known.map(digestOf),
          store,
          ...(stem === null ? {} : { stem }),
        }),
      );
      return readGrants(told, clock, known);
    },
    async waiting(limit) {
      const told = await connection.ask<TellsTime & { readonly waiters: readonly ToldTicket[] }>(() =>
        call("waiting", { page: limit, store }),
      );
      return readTickets(told, clock);
    },
    async audit({ tree, afterSeq, limit, resource, owner, event, since, until }) {
      const { text, values } = call("audit", {
        tree,
        after_seq: afterSeq,
        page: limit,
        resource: resource ?? null,
        owner: owner ?? null,
        event: event ?? null,
        since_ms: since?.getTime() ?? null,
        until_ms: until?.getTime() ?? null,
        store,
      });
      const rows = await connection.rows<{ readonly audit: string }>(text, values);
      return rows.map(({ audit }) => readEntry(audit, { tree, seq: seqIn(audit) }));
    },
    verifyAudit: (tree) => connection.ask<AuditVerdict>(() => call("audit_verify", { tree, store })),
    async auditHeads() {
      const heads = await connection.ask<Readonly<Record<string, number>>>(() => call("audit_heads", { store }));
      return new Map(Object.entries(heads) as [Key, number][]);
    },
  };
}

/** Returns the number of an entry, which is a column of its own, from the beginning of its line. */
function seqIn(line: string): number {
  return Number(/^\{"seq":(\d+),/.exec(line)?.[1] ?? 0);
}
