/** Opens `memory:NAME`: clients of one process that open the same name share it; it lasts while one of them has it open. */
import { lostStore } from "../../base/lost-store.js";
import { seenAt } from "../../lock/grant.js";
import { assertAgree, type Settings } from "../../lock/settings.js";
import type { Clock } from "../../platform/clock.js";
import { lifeBehind } from "../../platform/liveness/liveness.js";
import { thisMachine } from "../../platform/machine.js";
import type { Store } from "../contract.js";
import { firstSettings } from "../first-settings.js";
import { lacks } from "../lacking-ability.js";
import type { Ledger } from "../ledger.js";
import { createListeners } from "../local/listeners.js";
import type { Surroundings } from "../local/liveness-and-wake-ups.js";
import { createLocalStore } from "../local/local-store.js";
import { createMemoryLedger } from "./ledger.js";

interface Shared {
  readonly ledger: Ledger;
  readonly alive: Set<string>;
  readonly listeners: ReturnType<typeof createListeners>;
  users: number;
}

const shared = new Map<string, Shared>();

export function openMemoryStore(url: string, stated: Partial<Settings>, clock: Clock, expectedId?: string): Store {
  let memory = shared.get(url);
  if (expectedId !== undefined && expectedId !== url) throw lostStore(url, "replaced", expectedId, url);
  if (memory === undefined) {
    if (expectedId !== undefined) throw lostStore(url, "missing", expectedId);
    const ledger = createMemoryLedger(url, firstSettings(stated), clock);
    memory = { ledger, alive: new Set(), listeners: createListeners(), users: 0 };
    shared.set(url, memory);
  }
  assertAgree(memory.ledger.settings, stated);
  memory.users += 1;
  return createLocalStore(memory.ledger, createSurroundings(url, memory));
}

export function identifyMemoryStore(url: string): string | null {
  return shared.has(url) ? url : null;
}

/** A client that closes counts as dead from then on, as a process that ends does elsewhere. */
function createSurroundings(url: string, memory: Shared): Surroundings {
  const mine = new Set<string>();
  const { alive, listeners } = memory;
  return {
    witness: {
      life: (of) => lifeBehind(of, seenAt(of), thisMachine(), (nonce) => (alive.has(nonce) ? "alive" : "dead")),
      hasActiveJob: () => false,
    },
    wakeUps: {
      listen: (nonce, ticketId, onWake) => listeners.add(nonce, ticketId, onWake, true),
      wake(ticket) {
        listeners.callOne(ticket.nonce, ticket.ticketId);
        return false;
      },
      close() {},
    },
    prove(nonce) {
      mine.add(nonce);
      alive.add(nonce);
      return { kind: "file", file: "memory", inherited: false };
    },
    commandsInherit: false,
    proveForCommand: lacks("commandsInherit"),
    close() {
      for (const nonce of mine) alive.delete(nonce);
      mine.clear();
      memory.users -= 1;
      if (memory.users === 0) shared.delete(url);
    },
  };
}
