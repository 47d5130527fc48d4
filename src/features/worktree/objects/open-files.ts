/** Keeps files open that are read again and again; of many, the ones opened last. */
import { closeSync, openSync } from "node:fs";

const MOST_OPEN = 32;

export interface OpenFiles extends Disposable {
  fdOf(path: string): number;
}

export function createOpenFiles(): OpenFiles {
  const open = new Map<string, number>();
  return {
    fdOf(path) {
      const known = open.get(path);
      if (known !== undefined) return known;
      const [oldest] = open;
      if (open.size >= MOST_OPEN && oldest !== undefined) {
        open.delete(oldest[0]);
        closeSync(oldest[1]);
      }
      const fd = openSync(path, "r");
      open.set(path, fd);
      return fd;
    },
    [Symbol.dispose]() {
      for (const fd of open.values()) closeSync(fd);
      open.clear();
    },
  };
}
