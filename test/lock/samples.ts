/** Grants, tickets and moments to judge, with everything that does not matter filled in. */

import type { Circumstances, Request } from "../../src/lock/decide.js";
import type { Grant, Ticket, Want } from "../../src/lock/grant.js";
import { type Key, parseKey } from "../../src/lock/key.js";
import { MODES, type Mode } from "../../src/lock/mode.js";
import { createNodeOrder, DEFAULT_LEVELS } from "../../src/lock/order.js";
import type { Life, Witness } from "../../src/lock/profile.js";
import type { Instant } from "../../src/lock/time.js";
import { lacks } from "../../src/store/lacks.js";
import type { Surroundings } from "../../src/store/surroundings.js";
import { fc } from "../fixed-seed.js";

export const key = (text: string): Key => parseKey(text);

export function moment(ms: number, change: Partial<Instant> = {}): Instant {
  return { wallMs: 1_000_000 + ms, bootMs: ms, bootId: "boot", machineId: "machine", ...change };
}

let serial = 0;

export function grant(resource: string, mode: Mode = "write", change: Partial<Grant> = {}): Grant {
  serial += 1;
  return {
    lockId: `lock-${serial}`,
    resource: key(resource),
    mode,
    permits: null,
    owner: "agent:holder",
    holderId: "host:user:1:1",
    nonce: `nonce-${serial}`,
    createdAt: 1_000_000,
    renewedAt: moment(0),
    leaseMs: 30_000,
    graceMs: 30_000,
    renewals: 0,
    fencingToken: serial,
    tokenHash: `hash-${serial}`,
    profile: "default",
    detached: false,
    cover: null,
    proof: { kind: "file", file: "1:2:3", inherited: false },
    metadata: {},
    ...change,
  };
}

export function want(resource: string, mode: Mode = "write", permits: number | null = null): Want {
  return { resource: key(resource), mode, permits };
}

export function ticket(number: number, wants: readonly Want[], change: Partial<Ticket> = {}): Ticket {
  return {
    ticketId: `ticket-${number}`,
    number,
    wants,
    owner: "agent:waiter",
    holderId: "host:user:2:2",
    nonce: `waiter-${number}`,
    proof: { kind: "file", file: "4:5:6", inherited: false },
    enteredAt: moment(0),
    waitMs: 60_000,
    refreshedAt: moment(0),
    upgradeOf: null,
    bid: null,
    ...change,
  };
}

export function request(wants: readonly Want[], change: Partial<Request> = {}): Request {
  return { wants, presented: new Set(), holds: [], ticket: null, upgradeOf: null, strictOrder: false, ...change };
}

/** What a client that holds these shows with a request. */
export function presenting(...held: readonly Grant[]): Pick<Request, "presented" | "holds"> {
  return { presented: new Set(held.map((each) => each.tokenHash)), holds: held.map((each) => each.resource) };
}

export function witness(life: Life = "alive", hasActiveJob = false): Witness {
  return { life: () => life, hasActiveJob: () => hasActiveJob };
}

/** Of a store that is alone: nobody can be woken, and nothing proves that a process lives. */
export function surroundings(life: Life = "alive"): Surroundings {
  return {
    witness: witness(life),
    wakeUps: {
      listen: () => ({ mayHaveMissed: true, [Symbol.dispose]: () => undefined }),
      wake: () => false,
      close: () => undefined,
    },
    prove: () => ({ kind: "none" }),
    commandsInherit: false,
    proveForCommand: lacks("commandsInherit"),
    close: () => undefined,
  };
}

export function at(ms: number, who: Witness = witness()): Circumstances {
  return { now: moment(ms), witness: who, order: createNodeOrder(DEFAULT_LEVELS) };
}

/** A small world of keys in which most pairs are related somehow. */
export const KEYS = ["a", "a/x", "a/x/1", "a/y", "b", "b/map:m", "project:p", "project:p/map:m", "map:q"] as const;
const SEMAPHORES = ["a/s", "s"] as const;

export const anyKey = fc.constantFrom(...KEYS).map(key);
const anyMode = fc.constantFrom(...MODES);
export const anyWant: fc.Arbitrary<Want> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ resource: anyKey, mode: anyMode, permits: fc.constant(null) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      resource: fc.constantFrom(...SEMAPHORES).map(key),
      mode: fc.constant("write" as const),
      permits: fc.constantFrom(1, 2),
    }),
  },
);
