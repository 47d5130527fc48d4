/** Leases by name are functions of their own, so that psql and this library mean the same ones. */
import type { NamedLeases } from "../contract.js";
import { call } from "./call.js";
import type { Connection } from "./connection.js";

export function createNamedLeases(connection: Connection, store: string): NamedLeases {
  return {
    acquire: (name, holder, leaseMs, owner) =>
      connection.ask<string | null>(() =>
        call("lease_acquire", { lease_name: name, holder, ttl_seconds: leaseMs / 1000, owner, store }),
      ),
  };
}
