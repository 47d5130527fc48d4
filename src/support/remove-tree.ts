/** Removing a tree that nobody needs any more, a folder at a time, so that its size does not matter. */
import { opendir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ioError } from "./errors.js";

/** Removes the folder and all in it; one that is not there is fine. Links are removed, not followed. `E_IO` */
export async function removeTree(path: string): Promise<void> {
  try {
    await remove(path);
  } catch (error) {
    throw ioError(error, "remove", path);
  }
}

async function remove(path: string): Promise<void> {
  const folder = await orGone(opendir(path));
  if (folder === undefined) return;
  for await (const entry of folder) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) await remove(inner);
    else await orGone(unlink(inner));
  }
  await orGone(rmdir(path));
}

async function orGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
