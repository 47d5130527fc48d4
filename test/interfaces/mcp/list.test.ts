/** MCP-1: the list of tools, as every client pays for it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Json, Scene } from "./mcp.fixture.js";

/** Fewer bytes a token than real tokenizers need for JSON. */
const BYTES_A_TOKEN = 3.5;

let scene: Scene;
let list: { readonly tools: readonly Json[] };

beforeAll(async () => {
  scene = new Scene();
  list = await (await scene.agent("one")).client.listTools();
});
afterAll(() => scene.close());

describe("MCP-1: the list of tools", () => {
  it("has these, in this order, and says of each what it may do", () => {
    const hints = list.tools.map(({ name, annotations }) => [
      name,
      annotations.readOnlyHint ? "reads" : annotations.idempotentHint ? "idempotent" : "changes",
    ]);
    expect(hints).toEqual([
      ["lock_acquire", "changes"],
      ["lock_release", "idempotent"],
      ["lock_renew", "idempotent"],
      ["lock_convert", "changes"],
      ["lock_status", "reads"],
      ["lock_list", "reads"],
      ["operation_begin", "changes"],
      ["policy_explain", "reads"],
      ["issue_list", "reads"],
      ["issue_show", "reads"],
      ["issue_add", "changes"],
      ["issue_claim", "changes"],
      ["issue_update", "changes"],
      ["audit_list", "reads"],
    ]);
    for (const { annotations } of list.tools) {
      expect(annotations.openWorldHint).toBe(false);
      if (!annotations.readOnlyHint) expect(annotations.destructiveHint).toBe(false);
    }
  });

  it("is at most 14 tools and 4,000 tokens, with a schema for what goes in and what comes out", () => {
    expect(list.tools.length).toBeLessThanOrEqual(14);
    expect(Buffer.byteLength(JSON.stringify(list)) / BYTES_A_TOKEN).toBeLessThan(4_000);
    for (const { description, inputSchema, outputSchema } of list.tools) {
      expect(description.length).toBeGreaterThan(10);
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      expect(outputSchema).toMatchObject({
        type: "object",
        required: ["ok"],
        properties: { error: { type: "object" } },
      });
    }
  });

  it("takes the run in every call: an agent that was told its run gives it everywhere, and any call renews", () => {
    for (const { name, inputSchema } of list.tools)
      expect([name, inputSchema.properties.run]).toEqual([name, expect.objectContaining({ type: "string" })]);
  });

  it("STALE-6, POL-5: offers no way to break a lock, to approve, or to change the policy", () => {
    const words = JSON.stringify(
      list.tools.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties)]),
    );
    expect(words).not.toMatch(/break|force|steal|approve\b|reason|profile|config|recover/);
  });

  it("waits at most 50 s, and no lease is shorter than that", () => {
    const [acquire] = list.tools;
    expect(acquire.inputSchema.properties.wait_s).toMatchObject({ minimum: 0, maximum: 50 });
    expect(acquire.inputSchema.properties.ttl_s).toMatchObject({ minimum: 60, maximum: 3600 });
  });
});
