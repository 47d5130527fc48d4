import { randomUUID } from "node:crypto";
import { describe, it } from "vitest";
import { describeStoreContract } from "../../src/testing/index.js";

describeStoreContract(
  { name: "memory", isVolatile: true, newStore: () => `memory:${randomUUID()}` },
  { describe: describe.concurrent, it },
);
