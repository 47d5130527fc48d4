import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export function page(name: string): string {
  return readFileSync(join(ROOT, name), "utf8");
}

/** Line ends and indents are the page's business. */
export function unwrapped(text: string): string {
  return text.trim().split(/\s+/).join(" ");
}
