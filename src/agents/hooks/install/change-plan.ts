/**
 * Plans changes to files of other programs, shows them, then makes them. The content of each file before the change is
 * kept in
 *
 *   .holdfast/installed.json      { schema_version, files: { PATH: { before, after_sha256, parts } } }
 *
 * so that an uninstall restores it byte for byte, unless the file was changed in between. A file that was changed loses
 * only the parts that Holdfast wrote. Of plans that were made at the same time, one after the other is applied, under
 * `installed.guard`, and each changes only its own entries.
 */
import { hash } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { HoldfastError, ioError } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import { HOME } from "../../../base/home-folder.js";
import { underGuard } from "../../../files/guard.js";
import { existingTextPath } from "../../../files/real-path.js";
import { type Kept, readKept, writeKept } from "./kept-files.js";
import { textDiff } from "./text-diff.js";

/** Null: there is no such file. */
type Text = string | null;

/** Something of ours that a file may contain. */
export interface FilePart {
  /** Below the root, or absolute. */
  readonly path: string;
  readonly part: string;
  put(text: Text): Text;
  take(text: string): Text;
  /** Of a file that is made. */
  readonly mode?: number;
}

export interface FileChange {
  /** As it is shown: below the root where it can be. */
  readonly path: string;
  readonly change: "create" | "change" | "remove";
  readonly diff: string;
}

interface Planned {
  readonly path: string;
  readonly before: Text;
  after: Text;
  mode: number;
}

export class ChangePlan {
  readonly #root: string;
  readonly #files = new Map<string, Planned>();
  readonly #kept: Map<string, Kept>;

  constructor(root: string) {
    this.#root = root;
    this.#kept = readKept(root);
  }

  put(part: FilePart): void {
    const { file, name } = this.#file(part);
    const now = file.after;
    const after = naming(name, () => part.put(now));
    if (after === now) return;
    const kept = this.#unchangedSince(name, now);
    const before = kept === null ? (now === null ? null : part.take(now)) : kept.before;
    this.#keep(name, before, after, [...(kept?.parts ?? []), part.part]);
    file.after = after;
  }

  take(part: FilePart): void {
    const { file, name } = this.#file(part);
    const now = file.after;
    if (now === null) return;
    const kept = this.#unchangedSince(name, now);
    const left = kept?.parts.filter((each) => each !== part.part) ?? [];
    const after = kept !== null && left.length === 0 ? kept.before : naming(name, () => part.take(now));
    if (kept !== null && left.length > 0) this.#keep(name, kept.before, after, left);
    else this.#kept.delete(name);
    file.after = after;
  }

  get changes(): readonly FileChange[] {
    return this.#changed.map(({ path, before, after }) => {
      const name = this.#nameOf(path);
      const change = before === null ? "create" : after === null ? "remove" : "change";
      return { path: name, change, diff: textDiff(name, before, after) };
    });
  }

  /**
   * Each file is replaced in one step; what was before is kept first. `E_REVISION_CONFLICT`, and nothing is written, when
   * one of them is not any more as it was planned on: a person may have thought about the question for long.
   */
  async apply(): Promise<void> {
    if (this.#changed.length === 0) return;
    // mutant: hook-install-guard: underGuard(join(this.#root, HOME, "installed.guard") → (async (_path, body) => body())(underGuard
    await underGuard(join(this.#root, HOME, "installed.guard"), () => {
      // mutant: hook-install-meanwhile: if (readText(path) !== before) → if (false as boolean)
      for (const { path, before } of this.#changed) if (readText(path) !== before) throw changedMeanwhile(path);
      this.#writeKept();
      for (const file of this.#changed) replace(file);
    });
  }

  /** What others have installed since this was planned stays. */
  #writeKept(): void {
    // mutant: hook-install-at-once: const all = readKept(this.#root); → const all = this.#kept;
    const all = readKept(this.#root);
    for (const { path } of this.#changed) {
      const name = this.#nameOf(path);
      const kept = this.#kept.get(name);
      if (kept === undefined) all.delete(name);
      else all.set(name, kept);
    }
    writeKept(this.#root, all);
  }

  get #changed(): Planned[] {
    return [...this.#files.values()].filter(({ before, after }) => before !== after);
  }

  #file({ path, mode = 0o644 }: FilePart): { readonly file: Planned; readonly name: string } {
    const whole = realPathOf(isAbsolute(path) ? path : join(this.#root, path));
    const name = this.#nameOf(whole);
    let file = this.#files.get(whole);
    if (file === undefined) {
      const before = readText(whole);
      file = { path: whole, before, after: before, mode: statSync(whole, { throwIfNoEntry: false })?.mode ?? mode };
      this.#files.set(whole, file);
    }
    return { file, name };
  }

  #nameOf(path: string): string {
    const below = relative(realPathOf(this.#root), path);
    return below.startsWith("..") ? path : below;
  }

  #unchangedSince(name: string, now: Text): Kept | null {
    const kept = this.#kept.get(name);
    return kept !== undefined && now !== null && kept.after_sha256 === sha256(now) ? kept : null;
  }

  #keep(name: string, before: Text, after: Text, parts: readonly string[]): void {
    if (after === null) this.#kept.delete(name);
    else this.#kept.set(name, { before, after_sha256: sha256(after), parts: [...new Set(parts)] });
  }
}

function changedMeanwhile(path: string): HoldfastError {
  return new HoldfastError("E_REVISION_CONFLICT", `${path} was changed meanwhile; nothing was written`, {
    details: { path },
    next: ["Do it again: it starts from what is there now."],
  });
}

function replace({ path, after, mode }: Planned): void {
  const fresh = `${path}.holdfast-new`;
  try {
    if (after === null) {
      rmSync(path, { force: true });
      removeIfEmpty(dirname(path));
      return;
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(fresh, after);
    chmodSync(fresh, mode & 0o777);
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw ioError(error, "write", path);
  }
}

/** A folder that was made for the file goes with it. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // There is something else in it.
  }
}

function readText(path: string): Text {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw ioError(error, "read", path);
  }
  const text = bytes.toString("utf8");
  if (Buffer.from(text).equals(bytes)) return text;
  throw new HoldfastError("E_CONFIG", `${path} is no UTF-8 text`, { reason: "invalid_file", details: { path } });
}

/** A file that is a link stays one. */
function realPathOf(path: string): string {
  try {
    return existingTextPath(path);
  } catch {
    return path;
  }
}

function naming<T>(name: string, edit: () => T): T {
  try {
    return edit();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { code, next, details } = error;
    const message = `${name}: ${error.message}`;
    throw HoldfastError.again({ code, message, details: { ...given({ reason: details.reason }), path: name }, next });
  }
}

function sha256(text: string): string {
  return hash("sha256", text, "hex");
}
