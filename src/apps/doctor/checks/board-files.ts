/** Checks the board: files that cannot be read, a change that is not in its files yet, an index that is wrong. */
import { join } from "node:path";
import { HOME } from "../../../base/home-folder.js";
import { openIn } from "../../../client/open-holdfast.js";
import { openBoard } from "../../../features/board/board.js";
import { type BoardFault, examineBoard } from "../../../features/board/examine.js";
import type { Check, Diagnosis, Patient } from "../check.js";
import type { FindingCode } from "../finding.js";

export const boardFiles: Check = {
  name: "board",
  async look({ workspace, clock }): Promise<readonly Diagnosis[]> {
    if (workspace.root === null) return [];
    const dir = join(workspace.root, HOME, "board");
    return (await examineBoard(dir, clock)).map((fault) => describe(fault, workspace, dir));
  },
};

const KINDS: Readonly<Record<BoardFault["kind"], { readonly code: FindingCode; readonly next: string }>> = {
  unsettled: { code: "BOARD_UNSETTLED", next: "Nothing needs to be done: the next change of the board writes it." },
  quarantined: { code: "BOARD_QUARANTINED", next: "Take from it what is missing on the board, then delete it." },
  unreadable: { code: "BOARD_UNREADABLE", next: "Mend it, or put back an older copy." },
  newer: { code: "BOARD_NEWER", next: "Update holdfast; until then the document is left alone." },
  index: { code: "BOARD_INDEX_WRONG", next: "holdfast doctor --repair makes it anew from the issues." },
};

function describe({ kind, path, problem }: BoardFault, workspace: Patient["workspace"], dir: string): Diagnosis {
  const { code, next } = KINDS[kind];
  const diagnosis = { code, message: `${path}: ${problem}`, next: [next] };
  if (kind !== "unsettled" && kind !== "index") return diagnosis;
  return { ...diagnosis, repair: () => settle(workspace, dir) };
}

/** Whoever enters the board writes first what a crash has left out. */
async function settle(workspace: Patient["workspace"], dir: string): Promise<string> {
  const holdfast = await openIn(workspace, { heart: "loop" });
  try {
    await using board = openBoard(holdfast, dir);
    return `settled the board; its index shows ${await board.rebuildIndex()} issues`;
  } finally {
    await holdfast.close();
  }
}
