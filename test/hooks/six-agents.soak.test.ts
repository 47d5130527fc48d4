import { it } from "vitest";
import { sixAgents } from "./six-agents.js";

it("HOOK-1: six agents, two of them killed, for longer", () =>
  sixAgents(process.env.HOLDFAST_SOAK === "sample" ? 3 : 60));
