import { expect, it } from "vitest";
import { sixAgents } from "../../fixtures/agents/six-agents.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

it(`MCP-2, HOOK-1: six agents on one repository for a minute, two killed: every acknowledged edit is there${sample("4 of 400 shared edits")}`, async () => {
  expect(await sixAgents({ shared: IS_SAMPLE ? 4 : 400 })).toEqual([]);
});

it.skipIf(IS_SAMPLE).each(["hook", "mcp"] as const)(
  "an agent that writes after a no is found out: %s (needs the whole soak)",
  async (kind) => {
    const problems = await sixAgents({ shared: 2, ignoresRefusals: kind });
    expect(problems.filter((each) => each.startsWith("written without its lock"))).not.toEqual([]);
  },
);
