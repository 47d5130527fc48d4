/** Checks the options of a new snapshot. */
import { invalidArgument } from "../../../base/errors.js";
import type { WorktreeMode } from "../registry.js";
import { CONSISTENCY_LEVELS, type ConsistencyLevel } from "./descriptor.js";
import { isTag } from "./snapshot-id.js";

export function parseLevel(level: ConsistencyLevel | undefined, mode: WorktreeMode): ConsistencyLevel {
  if (level === undefined) return mode === "shared" ? "best_effort" : "quiesced";
  if (!CONSISTENCY_LEVELS.includes(level))
    throw invalidArgument("consistency", `one of ${CONSISTENCY_LEVELS.join(", ")}`);
  return level;
}

export function checkTexts(note: string, tags: readonly string[]): void {
  if (typeof note !== "string" || note.length > 4_096)
    throw invalidArgument("note", "text of at most 4,096 characters");
  if (!Array.isArray(tags) || tags.length > 32 || !tags.every(isTag))
    throw invalidArgument("tags", "at most 32 words of letters, digits and . : @ + - _");
}
