/** Named locks, by SQL functions of their own, so that psql and this library mean the same ones. */

import { RUNTIME } from "../../../lock/reserved-kinds.js";
import type { NamedLeases } from "../../contract.js";
import { call } from "../connection/call.js";
import type { Connection } from "../connection/connection.js";
import { manifestsLeftOn } from "../publish/manifest-records.js";
import type { SettleLeft } from "../publish/manifests.js";

export function createNamedLeases(connection: Connection, store: string, settleLeft: SettleLeft): NamedLeases {
  return {
    async acquire(name, holder, leaseMs, owner) {
      const token = await connection.ask<string | null>(() =>
        call("lease_acquire", { lease_name: name, holder, ttl_seconds: leaseMs / 1000, owner, store }),
      );
      if (token === null) return null;
      const left = await manifestsLeftOn(connection, store, RUNTIME + name);
      await settleLeft(left, { owner, holderId: holder });
      return token;
    },
  };
}
