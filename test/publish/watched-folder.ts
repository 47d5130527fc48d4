/** A folder for the scenes of one test file, with every operation on files and databases seen; removed at the end. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";
import { scratchFolder } from "../crash/sweep.js";
import { watchServer } from "./server-points.js";
import { watchDatabases } from "./world.js";

export function useWatchedFolder(): { readonly base: string } {
  const watched = { base: "" };
  beforeAll(() => {
    watched.base = scratchFolder();
    watchDatabases();
    watchServer();
  });
  afterAll(() => rmSync(watched.base, { recursive: true, force: true }));
  return watched;
}
