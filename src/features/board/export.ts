/** Exports the whole board as one JSON value. */
import type { BoardFiles } from "./board-files.js";
import type { Gate } from "./gates/gate.js";
import { listGates } from "./gates/gate-files.js";
import { compareIds } from "./index-file.js";
import type { Issue } from "./issue.js";

export const EXPORT_SCHEMA = 1;

export interface BoardExport {
  readonly schema_version: typeof EXPORT_SCHEMA;
  readonly exported_at: string;
  readonly issues: readonly Issue[];
  readonly gates: readonly Gate[];
}

/** Takes no lock: each issue is as it was at one moment, not all at the same. An unreadable one is an error. */
export async function exportBoard(board: BoardFiles): Promise<BoardExport> {
  const ids = (await board.documents.list("issues")).map((document) => document.slice("issues/".length));
  const issues: Issue[] = [];
  for (const id of ids.sort(compareIds)) {
    const issue = await board.read(id);
    if (issue !== null) issues.push(issue);
  }
  return { schema_version: EXPORT_SCHEMA, exported_at: board.now(), issues, gates: await listGates(board) };
}
