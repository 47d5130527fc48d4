/** Grants and tickets as rows of their tables. */
import type { Neighbourhood } from "../../lock/decide.js";
import {
  type Grant,
  type GrantRecord,
  SCHEMA_VERSION,
  type Ticket,
  toRecord,
  type UnreadableGrant,
} from "../../lock/grant.js";
import { type Key, nodesOf } from "../../lock/key.js";
import { decodeGrant, decodeTicket, detailsOf, encodeTicket, type GrantDetails } from "../grant-codec.js";
import type { Database, Row } from "./database.js";

const COLUMNS = `lock_id, resource, mode, owner, holder_id, nonce, created_at, heartbeat_ts, lease_expires,
  lease_duration_s, fencing_token, metadata, details`;

const ADD_GRANT = `INSERT INTO dal_locks (${COLUMNS}, token_hash) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`;

export function addGrant(database: Database, grant: Grant): void {
  const record = toRecord(grant);
  database.run(
    ADD_GRANT,
    record.lock_id,
    record.resource,
    record.mode,
    record.owner,
    record.holder_id,
    record.nonce,
    record.created_at,
    record.last_renewed_at,
    record.lease_expires_at,
    record.lease_duration_s,
    record.fencing_token,
    JSON.stringify(record.metadata),
    JSON.stringify(detailsOf(grant)),
    grant.tokenHash,
  );
}

/** Only what can change in the life of a grant. */
export function updateGrant(database: Database, grant: Grant): void {
  const record = toRecord(grant);
  database.run(
    `UPDATE dal_locks SET mode = ?, heartbeat_ts = ?, lease_expires = ?, lease_duration_s = ?, fencing_token = ?,
       details = ? WHERE lock_id = ?`,
    record.mode,
    record.last_renewed_at,
    record.lease_expires_at,
    record.lease_duration_s,
    record.fencing_token,
    JSON.stringify(detailsOf(grant)),
    record.lock_id,
  );
}

export function dropGrant(database: Database, grant: Grant): void {
  database.run("DELETE FROM dal_locks WHERE lock_id = ?", grant.lockId);
}

export function findGrant(database: Database, lockId: string): Grant | null {
  const row = database.get(`SELECT ${COLUMNS} FROM dal_locks WHERE lock_id = ?`, lockId);
  return row === undefined ? null : toGrant(row);
}

function toGrant(row: Row): Grant {
  const record: GrantRecord = {
    schema_version: SCHEMA_VERSION,
    lock_id: row[0] as string,
    resource: row[1] as string,
    mode: row[2] as GrantRecord["mode"],
    owner: row[3] as string,
    holder_id: row[4] as string,
    nonce: row[5] as string,
    created_at: row[6] as string,
    last_renewed_at: row[7] as string,
    lease_expires_at: row[8] as string,
    lease_duration_s: row[9] as number,
    fencing_token: row[10] as number,
    metadata: JSON.parse(row[11] as string) as GrantRecord["metadata"],
  };
  return decodeGrant({ ...record, store: JSON.parse(row[12] as string) as GrantDetails });
}

/** Grants and tickets on, above and below the keys. Two index ranges per key, however much the store holds. */
export function selectNear(database: Database, keys: readonly Key[]): Neighbourhood {
  const grants = new Map<string, Grant>();
  const tickets = new Map<string, Ticket>();
  const unreadable: UnreadableGrant[] = [];
  for (const key of keys) {
    for (const row of selectAround(database, COLUMNS, "dal_locks", key)) {
      try {
        grants.set(row[0] as string, toGrant(row));
      } catch (error) {
        unreadable.push({ resource: row[1] as Key, why: String((error as Error).message) });
      }
    }
    for (const [text] of selectAround(database, "ticket", "tickets", key)) {
      const ticket = decodeTicket(text as string);
      tickets.set(ticket.ticketId, ticket);
    }
  }
  return { grants: [...grants.values()], tickets: [...tickets.values()], unreadable };
}

/** `/` is followed by `0` in the order of bytes, so the keys below `k` are those between `k/` and `k0`. */
function selectAround(database: Database, columns: string, table: string, key: Key): Row[] {
  const nodes = nodesOf(key);
  const places = nodes.map(() => "?").join(",");
  return database.all(
    `SELECT ${columns} FROM ${table} WHERE resource IN (${places})
     UNION ALL SELECT ${columns} FROM ${table} WHERE resource > ? AND resource < ?`,
    ...nodes,
    `${key}/`,
    `${key}0`,
  );
}

export function putTicket(database: Database, ticket: Ticket): void {
  const text = encodeTicket(ticket);
  for (const { resource } of ticket.wants)
    database.run(
      "INSERT OR REPLACE INTO tickets (resource, ticket_id, number, ticket) VALUES (?, ?, ?, ?)",
      resource,
      ticket.ticketId,
      ticket.number,
      text,
    );
}

export function dropTicket(database: Database, ticket: Ticket): void {
  for (const { resource } of ticket.wants)
    database.run("DELETE FROM tickets WHERE resource = ? AND ticket_id = ?", resource, ticket.ticketId);
}

export function listGrants(
  database: Database,
  prefix: Key | null,
  after: { readonly resource: Key; readonly lockId: string } | null,
  limit: number,
): Grant[] {
  const within = prefix === null ? "1" : "(resource = ? OR (resource > ? AND resource < ?))";
  const beyond = after === null ? "1" : "(resource, lock_id) > (?, ?)";
  const values = [
    ...(prefix === null ? [] : [prefix, `${prefix}/`, `${prefix}0`]),
    ...(after === null ? [] : [after.resource, after.lockId]),
  ];
  return database
    .all(
      `SELECT ${COLUMNS} FROM dal_locks WHERE ${within} AND ${beyond} ORDER BY resource, lock_id LIMIT ?`,
      ...values,
      limit,
    )
    .map(toGrant);
}
