/** Maps each agent tool to its dialect. */
import type { AgentClient, Dialect } from "../call.js";
import { claude } from "./claude.js";
import { codex } from "./codex.js";
import { cursor } from "./cursor.js";
import { gemini } from "./gemini.js";

export const DIALECTS: Readonly<Record<AgentClient, Dialect>> = { claude, codex, cursor, gemini };
