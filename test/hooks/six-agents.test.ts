import { it } from "vitest";
import { sixAgents } from "./six-agents.js";

it("HOOK-1: six agents, two of them killed: every acknowledged edit is there, under its lock", () => sixAgents(2));
