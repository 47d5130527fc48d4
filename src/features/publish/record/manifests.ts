/** Reads the record of publishes, and compares it with the disk. Acquires no lock. */
import { closeSync, openSync, readlinkSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { checkOptions, type OptionNames } from "../../../base/check-options.js";
import { invalidArgument, ioError } from "../../../base/errors.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { kernelOf, type Manifests } from "../../../client/kernel.js";
import {
  lastCommitted,
  type Manifest,
  type ManifestFile,
  type ManifestRecord,
  toManifestRecord,
} from "../../../lock/manifest.js";
import { entryAt, isAbsence } from "../../../platform/look-up.js";
import { sumOf } from "../file-work.js";
import { digest } from "../stage/seal.js";
import { resolvePlace } from "../target.js";
import { manifestsHere } from "./manifests-here.js";
import { contentAt, recordsOf, type StandingContent, unfinished } from "./unfinished.js";

const PAGE = 1_000;
/** Named of the files that should not be there. */
const MOST_NAMED = 100;
const TYPE_BITS = 0o170000;
const LINK = 0o120000;

export interface ManifestListOptions {
  readonly target?: string;
  readonly state?: Manifest["state"];
  /** At most this many; default 1,000, at most 50,000. */
  readonly limit?: number;
  /** Goes on behind the last record of an earlier page. */
  readonly after?: Pick<ManifestRecord, "id" | "created_at">;
}

interface VerifyOptions {
  readonly target?: string;
  readonly onProgress?: (files: number) => void;
}

const LIST: OptionNames<ManifestListOptions> = { target: true, state: true, limit: true, after: true };
const VERIFY: OptionNames<VerifyOptions> = { target: true, onProgress: true };

/** Manifests, oldest first, a page at a time, without their lists of files. */
export async function listManifests(
  holdfast: Holdfast,
  options: ManifestListOptions = {},
): Promise<readonly ManifestRecord[]> {
  checkOptions(options, LIST);
  const { target, state, limit = PAGE, after } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > 50_000)
    throw invalidArgument("limit", "a whole number from 1 to 50,000");
  const found = await kernelOf(holdfast).manifests.list({
    target: target === undefined ? null : resolvePlace(target).path,
    state: state ?? null,
    after: after === undefined ? null : { id: after.id, createdAt: Date.parse(after.created_at) },
    limit,
  });
  return found.map(toManifestRecord);
}

/** The files of a manifest, one after the other. */
export async function* manifestFiles(holdfast: Holdfast, record: ManifestRecord): AsyncGenerator<ManifestFile> {
  const { manifests } = kernelOf(holdfast);
  const [manifest] = (await manifests.list({ target: record.target, state: null, after: null, limit: 50_000 })).filter(
    ({ id }) => id === record.id,
  );
  if (manifest !== undefined) yield* filesOf(manifests, manifest);
}

export interface ManifestVerdict {
  readonly ok: boolean;
  readonly targets: number;
  readonly files: number;
  readonly bad: readonly BadFile[];
  /** Publishes that were not finished, and which content stands at their targets. Not a fault by themselves. */
  readonly unfinished: readonly UnfinishedTarget[];
}

export interface UnfinishedTarget {
  readonly target: string;
  readonly manifest: string;
  readonly owner: string;
  /** Of this publish (`new`): its files are compared with this manifest. From before it (`old`), or nothing (`none`). */
  readonly content: StandingContent;
}

export interface BadFile {
  readonly target: string;
  readonly manifest: string;
  readonly path: string;
  readonly why: string;
}

/**
 * Reads what is published again and compares it with the newest manifest of each target: with that of a publish which is
 * not on record yet where its content stands there.
 */
export async function verifyManifests(holdfast: Holdfast, options: VerifyOptions = {}): Promise<ManifestVerdict> {
  checkOptions(options, VERIFY);
  const { target, onProgress } = options;
  const records = recordsOf(holdfast);
  const { manifests } = records;
  const only = target === undefined ? null : resolvePlace(target).path;
  let files = 0;
  const bad: BadFile[] = [];
  const newest = await standingByTarget(manifests, only);
  for (const [path, manifest] of newest) {
    let checked = manifest;
    for (;;) {
      const found = await check(manifests, checked, () => {
        files += 1;
        onProgress?.(files);
      });
      const now = (await standingByTarget(manifests, path)).get(path) ?? checked;
      if (found.length === 0 || now.id === checked.id) {
        bad.push(...found);
        break;
      }
      checked = now; // It was published anew meanwhile.
    }
  }
  return { ok: bad.length === 0, targets: newest.size, files, bad, unfinished: await unfinishedAt(records, only) };
}

/** Which manifest tells of the content at each target. */
async function standingByTarget(manifests: Manifests, target: string | null): Promise<Map<string, Manifest>> {
  const standing = new Map<string, Manifest>();
  for await (const manifest of manifestsHere(manifests, { target, state: "committed" })) {
    const before = standing.get(manifest.target);
    standing.set(manifest.target, before === undefined ? manifest : (lastCommitted([before, manifest]) ?? manifest));
  }
  for await (const manifest of manifestsHere(manifests, { target, state: "pending" }))
    if (contentAt(manifest) === "new") standing.set(manifest.target, manifest);
  return standing;
}

async function unfinishedAt(records: ReturnType<typeof recordsOf>, target: string | null): Promise<UnfinishedTarget[]> {
  const found: UnfinishedTarget[] = [];
  for await (const manifest of manifestsHere(records.manifests, { target, state: "pending" })) {
    const { content = null } = (await unfinished(manifest, records)) ?? {};
    const { target: at, id, owner } = manifest;
    if (content !== null) found.push({ target: at, manifest: id, owner, content });
  }
  return found;
}

async function check(manifests: Manifests, manifest: Manifest, onFile: () => void): Promise<BadFile[]> {
  const bad: BadFile[] = [];
  const complain = (path: string, why: string): void => {
    bad.push({ target: manifest.target, manifest: manifest.id, path, why });
  };
  let present = 0;
  for await (const file of filesOf(manifests, manifest)) {
    onFile();
    const why = await difference(join(manifest.target, file.path), file);
    if (why !== "missing") present += 1;
    if (why !== null) complain(file.path, why);
  }
  if ((await countFiles(manifest.target)) > present)
    for (const path of await extras(manifests, manifest)) complain(path, "not in the manifest");
  return bad;
}

async function difference(full: string, file: ManifestFile): Promise<string | null> {
  const found = entryAt(full);
  if (found === null) return "missing";
  if ((found.mode & TYPE_BITS) !== (file.mode & TYPE_BITS)) return "of another type";
  if ((file.mode & TYPE_BITS) === LINK)
    return digest(readlinkSync(full, "buffer")) === file.sha256 ? null : "leads elsewhere";
  if (found.mode !== file.mode) return "has another mode";
  if (found.size !== file.size) return "has another size";
  try {
    const fd = openSync(full, "r");
    try {
      return (await sumOf(fd)).sha256 === file.sha256 ? null : "has another content";
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code}`;
  }
}

async function countFiles(folder: string): Promise<number> {
  let count = 0;
  for await (const _ of namesBelow(folder, "")) count += 1;
  return count;
}

async function extras(manifests: Manifests, manifest: Manifest): Promise<string[]> {
  const listed = new Set<string>();
  for await (const { path } of filesOf(manifests, manifest)) listed.add(path);
  const found: string[] = [];
  for await (const name of namesBelow(manifest.target, ""))
    if (!listed.has(name) && found.push(name) === MOST_NAMED) break;
  return found;
}

async function* namesBelow(root: string, inner: string): AsyncGenerator<string> {
  let folder: Awaited<ReturnType<typeof opendir>>;
  try {
    folder = await opendir(join(root, inner));
  } catch (error) {
    if (isAbsence(error)) return; // Its files are reported as missing.
    throw ioError(error, "list", join(root, inner));
  }
  for await (const entry of folder) {
    const name = join(inner, entry.name);
    if (entry.isDirectory()) yield* namesBelow(root, name);
    else yield name;
  }
}

async function* filesOf(manifests: Manifests, manifest: Manifest): AsyncGenerator<ManifestFile> {
  for (let after: string | null = null; ; ) {
    const page: readonly ManifestFile[] = await manifests.files(manifest, after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.path;
  }
}
