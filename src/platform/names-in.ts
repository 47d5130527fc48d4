/** Returns the names in a folder; none where it is missing or cannot be listed. */
import { readdirSync } from "node:fs";

export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
