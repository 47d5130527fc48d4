import { expect, it } from "vitest";
import { sixAgents } from "../../fixtures/agents/six-agents.fixture.js";

// kills: hook-contention
it("MCP-2, HOOK-1: six agents on one repository, two killed: every acknowledged edit is there, under its lock", async () => {
  expect(await sixAgents({ shared: 4 })).toEqual([]);
});
