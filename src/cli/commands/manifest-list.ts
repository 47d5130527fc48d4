/** `holdfast manifest list [TARGET]`. */
import { resolve } from "node:path";
import type { ManifestRecord } from "../../lock/manifest.js";
import { listManifests, type ManifestListOptions } from "../../publish/manifests.js";
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { type Column, grid } from "../grid.js";
import { clockTime } from "../moments.js";
import { size } from "../text.js";

const DEFAULT_LIMIT = 1_000;

const MANIFESTS: readonly Column<ManifestRecord>[] = [
  { title: "AT", cell: (each) => clockTime(each.created_at) },
  { title: "STATE", cell: (each) => each.state },
  { title: "TARGET", cell: (each) => each.target, least: 10, good: 28 },
  { title: "FILES", cell: (each) => each.file_count.toLocaleString("en-US"), align: "right" },
  { title: "SIZE", cell: (each) => size(each.bytes), align: "right", drop: 2 },
  { title: "OWNER", cell: (each) => each.owner, least: 8, drop: 1 },
  { title: "UNDER", cell: (each) => each.resource, least: 10, drop: 3 },
];

export async function run(context: Context): Promise<Outcome> {
  const { flags, cwd } = context;
  const [target] = context.args("TARGET");
  const state = flags.text("state") as ManifestListOptions["state"];
  const limit = flags.integer("limit") ?? DEFAULT_LIMIT;
  const after = placeOf(flags.text("after"));
  const holdfast = await context.openForReading();
  const manifests =
    holdfast === null
      ? []
      : await listManifests(holdfast, {
          limit,
          ...(target === undefined ? {} : { target: resolve(cwd, target) }),
          ...(state === undefined ? {} : { state }),
          ...(after === undefined ? {} : { after }),
        });
  const last = manifests.at(-1);
  const next = last === undefined || manifests.length < limit ? null : `${last.created_at}/${last.id}`;
  return {
    data: { manifests, next },
    text: (screen) => (manifests.length === 0 ? "nothing was published" : grid(MANIFESTS, manifests, screen)),
    notes: next === null ? [] : [`more: the same with --after ${next}`],
  };
}

function placeOf(text: string | undefined): ManifestListOptions["after"] {
  if (text === undefined) return undefined;
  const [created_at = "", id] = text.split("/");
  if (id === undefined || Number.isNaN(Date.parse(created_at)))
    throw invalidArgument("after", "CREATED_AT/ID, as data.next has it");
  return { created_at, id };
}
