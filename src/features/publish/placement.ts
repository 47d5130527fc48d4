/**
 * Gives the stage the name of the target, in one instant. Everything that can be prepared is prepared before it, and
 * the rest is cleaned up after it.
 */
import { closeSync, fsyncSync, openSync, renameSync } from "node:fs";
import { ioError } from "../../base/errors.js";
import { removeTree } from "../../files/remove-tree.js";
import { HeldBack } from "../../files/slow-removals.js";
import { exchange } from "../../platform/exchange.js";
import { asCrossDevice, folderAt, type Target } from "./target.js";

export class Placement {
  readonly #target: Target;
  readonly #folders: number[] = [];
  readonly #old = new HeldBack();
  #replaced: { readonly path: string; readonly size: number } | null = null;
  #hasRenamed = false;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Others can see the new tree: what fails from then on is not known to have failed. */
  get hasRenamed(): boolean {
    return this.#hasRenamed;
  }

  get hasReplaced(): boolean {
    return this.#replaced !== null;
  }

  /** Both parents are opened, so that after the rename only the syncs themselves can fail. `E_IO` */
  prepare(): void {
    const { tmp, parent, path } = this.#target;
    try {
      for (const folder of [tmp, parent]) this.#folders.push(openSync(folder, "r"));
    } catch (error) {
      throw ioError(error, "publish", path);
    }
  }

  /** Under the guard, after lease and fence were checked. Returns whether a tree was replaced. */
  make(check: (() => void) | undefined): boolean {
    const { path, stage } = this.#target;
    try {
      check?.();
      // mutant: publish-no-replace: const before = folderAt(path); → const before = [folderAt(path)].at(1);
      const before = folderAt(path);
      if (before === undefined) renameSync(stage, path);
      else this.#replaced = { path: exchange(stage, path), size: before.size };
      this.#hasRenamed = true;
      for (const fd of this.#folders) fsyncSync(fd);
      return before !== undefined;
    } catch (error) {
      throw asCrossDevice(error, path) ?? ioError(error, "publish", path);
    }
  }

  /** Removes the tree that was replaced. `E_IO` */
  async removeOld(): Promise<void> {
    if (this.#replaced === null) return;
    const { path, size } = this.#replaced;
    await removeTree(path, { size, held: this.#old });
  }

  /** The disk has time for what it took. */
  letGo(): void {
    this.#old.letGo();
  }

  close(): void {
    for (const fd of this.#folders.splice(0)) closeSync(fd);
  }
}
