/**
 * Returns the version of this package, read from package.json, which lies two folders above this module, bundled or
 * not.
 */
import { readFileSync } from "node:fs";

export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
