import { expect, it } from "vitest";
import { sixAgents } from "./six-agents.js";

const isSample = process.env.HOLDFAST_SOAK === "sample";

it("MCP-2, HOOK-1: six agents on one repository for a minute, two killed: every acknowledged edit is there", async () => {
  expect(await sixAgents({ shared: isSample ? 4 : 400 })).toEqual([]);
});

const why = isSample ? " (left out of the sample: it takes a minute)" : "";
it.skipIf(isSample).each(["hook", "mcp"] as const)(
  `an agent that writes after a no is found out: %s${why}`,
  async (kind) => {
    const problems = await sixAgents({ shared: 2, ignoresRefusals: kind });
    expect(problems.filter((each) => each.startsWith("written without its lock"))).not.toEqual([]);
  },
);
