/**
 * Records decisions about steps on several trees: such a step has happened if, and only if, its file ops/<id>.json is
 * there. The file may be removed only after every tree of the step has adopted its part.
 *
 * protocol: file store ops
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../../base/errors.js";
import { removeQuietly, replaceFile } from "../../../files/durable-file.js";
import type { Key } from "../../../lock/key.js";
import { ageOfFile } from "../../../platform/clock.js";
import { makeFolder } from "../../../platform/folder-rights.js";
import { isThere, namesIn } from "../../../platform/look-up.js";

/** Longer than any step takes: a file under construction that is older was left by a crash. */
const STALE_MS = 60_000;

export class Decisions {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The commit point of the step. */
  make(id: string, trees: readonly Key[], durable: boolean): void {
    try {
      makeFolder(this.#folder);
    } catch (error) {
      throw ioError(error, "create", this.#folder);
    }
    replaceFile(this.#pathOf(id), Buffer.from(`${JSON.stringify({ trees })}\n`), durable);
  }

  /** Not to be able to look is an error, never a no. */
  isMade(id: string): boolean {
    return isThere(this.#pathOf(id));
  }

  forget(id: string): void {
    removeQuietly(this.#pathOf(id));
  }

  /** What crashes left. One that cannot be read stays, for its trees may still need it. */
  left(): { readonly id: string; readonly trees: readonly Key[] }[] {
    return namesIn(this.#folder).flatMap((name) => {
      const path = join(this.#folder, name);
      try {
        if (name.endsWith(".json"))
          return [
            { id: name.slice(0, -".json".length), trees: (JSON.parse(readFileSync(path, "utf8")) as Step).trees },
          ];
        if (name.endsWith(".json.new") && ageOfFile(statSync(path).mtimeMs) > STALE_MS) removeQuietly(path);
      } catch {
        // Just gone, or not readable.
      }
      return [];
    });
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }
}

interface Step {
  readonly trees: readonly Key[];
}
