import { randomUUID } from "node:crypto";
import { describe, it } from "vitest";
import { describeStoreContract } from "./store-contract.fixture.js";

describeStoreContract(
  { name: "memory", isVolatile: true, newStore: () => `memory:${randomUUID()}` },
  { describe: describe.concurrent, it },
);
