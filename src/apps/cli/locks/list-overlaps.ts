/** Lists files that are held in several worktrees or workspaces at once. */
import { kernelOf } from "../../../client/kernel.js";
import { liveFiles, type Overlap, OverlapFinder, pathInTree } from "../../../client/reading/overlaps.js";
import { type GrantRecord, toRecord } from "../../../lock/grant.js";
import type { BaseContext, Outcome } from "../command.js";
import { type Column, grid } from "../output/grid.js";
import { clockTime } from "../output/times.js";

/** The earlier holder comes first. */
interface OverlapRecord {
  readonly path: string;
  readonly first: GrantRecord;
  readonly second: GrantRecord;
}

const COLUMNS: readonly Column<OverlapRecord>[] = [
  { title: "PATH", cell: ({ path }) => path, least: 10, good: 32 },
  { title: "FIRST", cell: ({ first }) => first.owner, least: 8, good: 16 },
  { title: "IN", cell: ({ first }) => treeName(first), drop: 2 },
  { title: "SECOND", cell: ({ second }) => second.owner, least: 8, good: 16 },
  { title: "IN", cell: ({ second }) => treeName(second), drop: 1 },
  { title: "SINCE", cell: ({ second }) => clockTime(second.created_at), drop: 3 },
];

export async function listOverlaps({ openForReading }: BaseContext): Promise<Outcome> {
  const holdfast = await openForReading();
  const grants = holdfast === null ? [] : await liveFiles(kernelOf(holdfast));
  const finder = new OverlapFinder(grants);
  const pairs = grants.flatMap((grant) => finder.overlapsWith(grant)).filter(isInOrder);
  const overlaps = pairs.map(shownOf).sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return {
    data: { overlaps },
    text: (screen) => (overlaps.length === 0 ? "" : grid(COLUMNS, overlaps, screen)),
    notes: overlaps.length === 0 ? ["no file is held in two worktrees or workspaces"] : [],
  };
}

/** Each pair is found from both sides. One owner in two worktrees does not meet itself. */
function isInOrder({ own, other }: Overlap): boolean {
  if (own.owner === other.owner) return false;
  if (own.createdAt !== other.createdAt) return own.createdAt < other.createdAt;
  return own.resource < other.resource;
}

/** Of a folder and a file in it, the path of the file. */
function shownOf({ own, other }: Overlap): OverlapRecord {
  const paths = [pathInTree(own.resource), pathInTree(other.resource)].sort((a, b) => b.length - a.length);
  return { path: paths[0] ?? "", first: toRecord(own), second: toRecord(other) };
}

function treeName({ resource }: GrantRecord): string {
  return resource.split("/", 1)[0] ?? resource;
}
