/**
 * Forty cells of the matrix of ways in, places and names: each value of each axis at least once, and each fault that was seen.
 * The soak run has all of them.
 */
import { afterAll, describe, expect, it } from "vitest";
import { CELLS, cellOf, idOf, titleOf } from "../../fixtures/matrix/cell.fixture.js";
import { type Cell, reasonAgainst } from "../../fixtures/matrix/impossible.fixture.js";
import { surpriseOf } from "../../fixtures/matrix/listed.fixture.js";
import { caseOf, NAMES } from "../../fixtures/matrix/names.fixture.js";
import { isThere } from "../../fixtures/matrix/needs.fixture.js";
import { PLACES } from "../../fixtures/matrix/places.fixture.js";
import { WAYS } from "../../fixtures/matrix/ways.fixture.js";
import { closeWorlds, judgeIn } from "../../fixtures/matrix/worlds.fixture.js";

const R = "the reference";
const C = "the contender";

const CHOSEN: readonly Cell[] = [
  // A way in that searches the workspace in its own way.
  cellOf("openHoldfast()", "in a subfolder", "the file", R),
  cellOf("openHoldfast()", "in a subfolder", "the folder", C),
  cellOf("lock acquire", "in a subfolder", "the file", R),
  cellOf("lock acquire", "with HOLDFAST_STORE", "the file", R),
  cellOf("openHoldfast()", "with HOLDFAST_STORE", "the folder", C),
  cellOf("lock acquire", "with a configuration of another store", "the file", R),
  cellOf("openHoldfast({ store })", "with a configuration of another store", "the folder", C),
  // Worktrees, submodules and other workspaces.
  cellOf("lock acquire", "in a linked worktree", "the file", R),
  cellOf("the hook of codex", "in a linked worktree", "the file", R),
  cellOf("the hook of claude", "in a nested worktree", "the file", R),
  cellOf("the hook of claude", "in a nested worktree", "the file", C),
  cellOf("MCP over HTTP", "in a nested worktree", "the folder", R),
  cellOf("openHoldfast()", "in a submodule", "the file", R),
  cellOf("the hook of gemini", "in a submodule", "the folder", C),
  cellOf("the hook of claude", "in another workspace", "the file", R),
  cellOf("the hook of codex", "in another workspace", "the file", R),
  cellOf("openHoldfast({ root })", "in another workspace", "the file", C),
  // One thing under several names.
  cellOf("lock acquire", "in the root", "deliverable:ID", R),
  cellOf("the hook of claude", "in the root", "deliverable:ID", R),
  cellOf("deliverable lock", "in the root", "the folder", R),
  cellOf("the hook of claude", "in the root", "_LOCK.json", C),
  cellOf("MCP over stdio", "in the root", "_LOCK.json", R),
  cellOf("publish", "in the root", "the publish target", R),
  cellOf("the hook of cursor", "in the root", "the publish target", R),
  cellOf("restore", "in the root", "the worktree payload", R),
  cellOf("the hook of claude", "in the root", "the worktree payload", R),
  cellOf("run", "in the root", "the worktree payload", C),
  // Spellings.
  cellOf("openHoldfast({ root })", "on a folding file system", "another spelling", R),
  cellOf("the hook of gemini", "on a folding file system", "another spelling", C),
  cellOf("the hook of cursor", "in a symlink to the root", "another spelling", R),
  cellOf("lock acquire", "in a symlink to the root", "the file", C),
  // Clocks, life and permission.
  cellOf("openHoldfast()", "in a container with its own boot id", "the file", R),
  cellOf("run", "in a container with its own boot id", "the file", C),
  cellOf("openHoldfast({ root })", "in a time namespace", "the file", R),
  cellOf("openHoldfast({ root })", "in a time namespace", "the file", C),
  cellOf("run", "in another time zone and language", "the file", C),
  cellOf("job", "in a bare environment", "the folder", R),
  cellOf("lock acquire", "with a read-only home", "the file", C),
  cellOf("lock acquire", "as another user of the group", "the file", R),
  cellOf("the hook of claude", "as another user of the group", "the folder", C),
];

afterAll(closeWorlds);

describe("the matrix of ways in, places and names", () => {
  for (const cell of CHOSEN)
    (cell.place.needs.every(isThere) ? it.concurrent : it.skip)(titleOf(cell), async () => {
      expect(surpriseOf(cell, await judgeIn(cell.place.name, cell))).toBeNull();
    });

  it("the forty are possible, differ, and have each value of each axis but SQL and the hard link, which the soak run has", () => {
    expect(CELLS).toHaveLength(4_096);
    expect(CHOSEN).toHaveLength(40);
    expect(CHOSEN.map(reasonAgainst)).toEqual(CHOSEN.map(() => null));
    expect(new Set(CHOSEN.map(titleOf)).size).toBe(40);
    const missing = [
      WAYS.filter((way) => !CHOSEN.some((cell) => cell.way === way)).map(({ name }) => name),
      PLACES.filter((place) => !CHOSEN.some((cell) => cell.place === place)).map(({ name }) => name),
      NAMES.filter((name) => !CHOSEN.some((cell) => cell.name === name)),
    ];
    expect(missing).toEqual([["SQL"], [], ["a hard link"]]);
  });

  it("a cell without words is impossible, and has a reason", () => {
    const thing = { name: "t", folder: "/w/t", spelled: "/w/s", key: "path/t", spelledKey: "path/s" };
    const wordless = CELLS.filter(
      ({ name, way, holdsFirst }) => caseOf(name, way.kind, holdsFirst, thing, "/w") === null,
    );
    expect(wordless.filter((cell) => reasonAgainst(cell) === null).map(idOf)).toEqual([]);
    expect(wordless.length).toBeGreaterThan(0);
  });
});
