/**
 * Makes a whole tree survive a power cut: by one call to the file system where the machine has the tool, else file by
 * file.
 */
import { execFile } from "node:child_process";
import { closeSync, fsyncSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

export async function syncTree(folder: string): Promise<void> {
  const isDone = await new Promise<boolean>((resolve) => {
    execFile("sync", ["-f", folder], (error) => resolve(error === null));
  });
  if (!isDone) syncEach(folder);
}

function syncEach(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const full = join(folder, entry.name);
    if (entry.isDirectory()) syncEach(full);
    else if (entry.isFile()) syncOne(full);
  }
  syncOne(folder);
}

function syncOne(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
