/**
 * What a store answered, told so that two stores can be compared: random ids become the order in which they were first
 * seen, fencing tokens their rank in their tree. Everything else, times included, has to be the same.
 */
import type { AuditEntry } from "../../src/lock/audit.js";
import type { Contention } from "../../src/lock/contention.js";
import type { Grant, Ticket } from "../../src/lock/grant.js";
import { treeOf } from "../../src/lock/key.js";
import type { InTheWay } from "../../src/store/contract.js";
import { HoldfastError } from "../../src/support/errors.js";

class Id {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}
class Token {
  readonly tree: string;
  readonly number: number;
  constructor(resource: string, number: number) {
    this.tree = resource.split("/", 1)[0] ?? "";
    this.number = number;
  }
}

class Last extends Token {}

export function tellGrant(grant: Grant): unknown {
  const { lockId, tokenHash: _secret, fencingToken, cover, nonce: _, proof, renewedAt, ...rest } = grant;
  return {
    ...rest,
    lock: new Id(lockId),
    token: new Token(grant.resource, fencingToken),
    cover: cover === null ? null : new Id(cover),
    proof: proof.kind,
    renewedAt: renewedAt.bootMs,
  };
}

export function tellTicket({ ticketId, wants, owner, upgradeOf, enteredAt, refreshedAt, waitMs }: Ticket): unknown {
  return {
    ticket: new Id(ticketId),
    upgradeOf: upgradeOf === null ? null : new Id(upgradeOf),
    enteredAt: enteredAt.bootMs,
    refreshedAt: refreshedAt.bootMs,
    wants,
    owner,
    waitMs,
  };
}

/** Of those in line in different trees none is before the other: any of them may be named. */
export function tellInTheWay({ resource }: InTheWay): unknown {
  return { resource };
}

export function tellContention(report: Contention): unknown {
  const { owner, ...rest } = report;
  // Of those in line in different trees none is before the other: any of them may be named.
  return {
    ...rest,
    owner: report.holder === null ? undefined : owner,
    holders: report.holders.map(({ lock_id, fencing_token, ...holder }) => ({
      ...holder,
      lock: new Id(lock_id),
      token: new Token(holder.resource, fencing_token),
    })),
  };
}

export function tellTicketId(ticketId: string): unknown {
  return new Id(ticketId);
}

/** A refusal is its code and whom it names. Anything but a refusal is no answer. */
export function tellError(error: unknown): unknown {
  if (!(error instanceof HoldfastError)) throw error;
  const { contention, field } = error.details as { contention?: Contention; field?: string };
  return { refused: error.code, field, contention: contention === undefined ? undefined : tellContention(contention) };
}

export function tellEntry({ hash: _, prev_hash: __, lock_id, fencing_token, details, ...entry }: AuditEntry): unknown {
  return {
    ...entry,
    lock: lock_id === null ? null : new Id(lock_id),
    token: fencing_token === null ? null : new Token(entry.resource, fencing_token),
    details: Object.fromEntries(
      Object.entries(details).map(([name, value]) => [name, tellDetail(entry.resource, name, value)]),
    ),
  };
}

function tellDetail(resource: string, name: string, value: unknown): unknown {
  if (typeof value === "number" && name.endsWith("fencing_token")) return new Token(resource, value);
  if (typeof value === "string" && /lock_id$|^nested_in$|^op_id$/.test(name)) return new Id(value);
  if (name !== "previous") return value;
  return { ...(value as object), nonce: undefined };
}

/** The last number of a tree: what matters is which of those ever seen are not above it. */
export function tellLast(resource: Grant["resource"], fencingToken: number): unknown {
  return new Last(treeOf(resource), fencingToken);
}

/** Gives every id and token of a whole story its place. */
export function settle(story: readonly unknown[]): unknown {
  const ids = new Map<string, number>();
  const tokens = new Map<string, Set<number>>();
  walk(story, (token) => {
    const seen = tokens.get(token.tree) ?? new Set();
    tokens.set(token.tree, seen.add(token.number));
  });
  const ranks = new Map([...tokens].map(([tree, seen]) => [tree, [...seen].sort((a, b) => a - b)]));
  return JSON.parse(
    JSON.stringify(story, (_, value: unknown) => {
      if (value instanceof Id) {
        if (!ids.has(value.id)) ids.set(value.id, ids.size);
        return `id ${ids.get(value.id)}`;
      }
      if (value instanceof Last) return ranks.get(value.tree)?.filter((number) => number <= value.number).length ?? 0;
      if (value instanceof Token) return `token ${ranks.get(value.tree)?.indexOf(value.number)}`;
      return value;
    }),
  );
}

function walk(value: unknown, onToken: (token: Token) => void): void {
  if (value instanceof Last) return;
  if (value instanceof Token) onToken(value);
  else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) walk(part, onToken);
}
