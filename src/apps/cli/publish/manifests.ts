/** Lists the manifests of publishes, and compares the published folders with them. */
import { resolve } from "node:path";
import { count, number, size } from "../../../base/count-text.js";
import { ERRORS, HoldfastError, invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import {
  listManifests,
  type ManifestListOptions,
  type UnfinishedTarget,
  verifyManifests,
} from "../../../features/publish/record/manifests.js";
import { STANDING } from "../../../features/publish/record/unfinished.js";
import type { ManifestRecord } from "../../../lock/manifest.js";
import type { ContextWith, Outcome } from "../command.js";
import { type Column, grid } from "../output/grid.js";
import { openProgress } from "../output/progress.js";
import { clockTime } from "../output/times.js";

const DEFAULT_LIMIT = 1_000;

const MANIFESTS: readonly Column<ManifestRecord>[] = [
  { title: "AT", cell: (each) => clockTime(each.created_at) },
  { title: "STATE", cell: (each) => each.state },
  { title: "TARGET", cell: (each) => each.target, least: 10, good: 28 },
  { title: "FILES", cell: (each) => number(each.file_count), align: "right" },
  { title: "SIZE", cell: (each) => size(each.bytes), align: "right", drop: 2 },
  { title: "OWNER", cell: (each) => each.owner, least: 8, drop: 1 },
  { title: "UNDER", cell: (each) => each.resource, least: 10, drop: 3 },
];

interface Target {
  readonly TARGET: string | undefined;
}

interface ListFlags {
  readonly state: ManifestRecord["state"] | undefined;
  readonly limit: number | undefined;
  readonly after: string | undefined;
}

export async function listManifestsOf(context: ContextWith<ListFlags, Target>): Promise<Outcome> {
  const { state, limit = DEFAULT_LIMIT, after: cursor } = context.flags;
  const target = targetOf(context);
  const after = placeOf(cursor);
  const holdfast = await context.openForReading();
  const manifests =
    holdfast === null ? [] : await listManifests(holdfast, { limit, ...given({ target, state, after }) });
  const last = manifests.at(-1);
  const next = last === undefined || manifests.length < limit ? null : `${last.created_at}/${last.id}`;
  return {
    data: { manifests, next },
    text: (screen) => (manifests.length === 0 ? "nothing was published" : grid(MANIFESTS, manifests, screen)),
    notes: next === null ? [] : [`more: the same with --after ${next}`],
  };
}

function targetOf({ args, cwd }: ContextWith<unknown, Target>): string | undefined {
  return args.TARGET === undefined ? undefined : resolve(cwd, args.TARGET);
}

function placeOf(text: string | undefined): ManifestListOptions["after"] {
  if (text === undefined) return undefined;
  const [created_at = "", id] = text.split("/");
  if (id === undefined || Number.isNaN(Date.parse(created_at)))
    throw invalidArgument("after", "CREATED_AT/ID, as data.next has it");
  return { created_at, id };
}

export async function verifyManifestsOf(context: ContextWith<unknown, Target>): Promise<Outcome> {
  const { screen } = context;
  const target = targetOf(context);
  const holdfast = await context.openForReading();
  const progress = openProgress(screen);
  const verdict =
    holdfast === null
      ? { ok: true, targets: 0, files: 0, bad: [], unfinished: [] }
      : await verifyManifests(holdfast, {
          onProgress: (files) => progress.show(`${count(files, "file")} read`),
          ...given({ target }),
        });
  progress.end();
  if (target !== undefined && verdict.targets + verdict.unfinished.length === 0)
    throw new HoldfastError("E_NOT_FOUND", `nothing was published to ${target}`, {
      next: ["holdfast manifest list"],
    });
  return {
    data: { verdict },
    text: () =>
      verdict.ok
        ? `${screen.paint("green", "as published")}: ${count(verdict.files, "file")} in ${count(verdict.targets, "target")}`
        : verdict.bad.map(({ target: at, path, why }) => `${screen.paint("red", why)}: ${at}/${path}`).join("\n"),
    notes: verdict.unfinished.map(noteOf),
    exit: verdict.ok ? 0 : ERRORS.E_STORE_CORRUPT.exit,
  };
}

function noteOf({ target, owner, content }: UnfinishedTarget): string {
  return `unfinished: a publish to ${target} by ${owner}; ${STANDING[content]}. The next lock on it settles it, or: holdfast doctor --repair`;
}
