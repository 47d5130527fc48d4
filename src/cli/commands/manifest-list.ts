/** `holdfast manifest list [TARGET]`. */
import { resolve } from "node:path";
import type { ManifestRecord } from "../../lock/manifest.js";
import { listManifests, type ManifestListOptions } from "../../publish/manifests.js";
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";

const DEFAULT_LIMIT = 1_000;

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
    text: () => (manifests.length === 0 ? "nothing was published" : manifests.map(lineOf).join("\n")),
  };
}

function placeOf(text: string | undefined): ManifestListOptions["after"] {
  if (text === undefined) return undefined;
  const [created_at = "", id] = text.split("/");
  if (id === undefined || Number.isNaN(Date.parse(created_at)))
    throw invalidArgument("after", "CREATED_AT/ID, as data.next has it");
  return { created_at, id };
}

function lineOf({ created_at, state, target, file_count, bytes, owner, resource }: ManifestRecord): string {
  const size = `${file_count} files, ${bytes} bytes`;
  return `${created_at}  ${state.padEnd(9)}  ${target}  ${size}  ${owner} under ${resource}`;
}
