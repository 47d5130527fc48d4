/** A workspace with one worktree, and looking at trees from outside. */
import { hash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Holdfast, openHoldfast } from "../../src/index.js";
import { openWorktrees, type Worktrees } from "../../src/worktree/index.js";

/** Memory, unless said otherwise: such as a file system that shares blocks between files. */
const PLACE = process.env.HOLDFAST_TEST_TREES ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir());

export interface Scene {
  readonly root: string;
  readonly payload: string;
  readonly holdfast: Holdfast;
  readonly worktrees: Worktrees;
  /** Writes files into the payload, long enough ago that no clock's grain makes them racy. */
  write(files: Readonly<Record<string, string | Buffer>>): void;
  /** Another client on the same workspace. */
  another(owner: string): Promise<{ holdfast: Holdfast; worktrees: Worktrees }>;
  close(): Promise<void>;
}

export async function openScene({
  mode = "exclusive" as "exclusive" | "shared",
  sharedInPlace = false,
} = {}): Promise<Scene> {
  const root = mkdtempSync(join(PLACE, "holdfast-tree-"));
  const opened: Holdfast[] = [];
  const open = async (owner: string) => {
    // What a killed process held is free at once: by default a worktree's lock is only by the end of its lease.
    const profiles = { "worktree:main": "default" } as const;
    const holdfast = await openHoldfast({ root, owner, heart: "loop", profiles });
    opened.push(holdfast);
    return { holdfast, worktrees: await openWorktrees(holdfast, { root, threads: 0, sharedInPlace }) };
  };
  const { holdfast, worktrees } = await open("agent:one");
  await worktrees.trees.add("main", { path: "payload", mode });
  const payload = join(root, "payload");
  return {
    root,
    payload,
    holdfast,
    worktrees,
    write: (files) => writeTree(payload, files),
    another: open,
    async close() {
      for (const each of opened) await each.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

export function writeTree(payload: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(payload, name)), { recursive: true });
    writeFileSync(join(payload, name), content);
  }
}

/** A payload with a bit of everything that must come back. */
export function variedTree(payload: string): void {
  writeTree(payload, {
    "a.txt": "hello",
    "deep/er/b.bin": Buffer.alloc(3_000, 7),
    "deep/c": "",
    "deep.d": "sorts between",
    large: Buffer.alloc(1_500_000, "x"),
    'odd\n"name\\ ': "odd",
    Case: "upper",
    case: "lower",
  });
  mkdirSync(join(payload, "empty/inner"), { recursive: true });
  symlinkSync("../../outside", join(payload, "deep/link"));
  symlinkSync("deep", join(payload, "to-folder"));
  utimesSync(join(payload, "a.txt"), 1_600_000_000.123456, 1_600_000_000.123456);
  // Older than 1970; as text, because Node takes a negative number for now.
  utimesSync(join(payload, "deep/c"), "-315521754.25", "-315521754.25");
  utimesSync(join(payload, "empty/inner"), "-0.001", "-0.001");
}

/** Everything about a tree that a snapshot promises, one line each. Inodes are named by the first path that has them. */
export function outlineOf(folder: string): string[] {
  const first = new Map<number, string>();
  const lines: string[] = [];
  const visit = (path: string): void => {
    const full = join(folder, path);
    const stats = lstatSync(full, { bigint: true });
    const time = (stats.mtimeNs - (((stats.mtimeNs % 1_000n) + 1_000n) % 1_000n)) / 1_000n;
    if (stats.isSymbolicLink()) lines.push(`${path} -> ${readlinkSync(full)} ${time}`);
    else if (stats.isDirectory()) {
      lines.push(`${path}/ ${stats.mode & 0o7777n} ${time}`);
      for (const name of readdirSync(full).sort()) visit(path === "" ? name : `${path}/${name}`);
    } else if (stats.isFile()) {
      const same = first.get(Number(stats.ino));
      first.set(Number(stats.ino), same ?? path);
      lines.push(
        `${path} ${stats.mode & 0o7777n} ${time} ${stats.size} ${hash("sha256", readFileSync(full))} ${same ?? ""}`,
      );
    } else lines.push(`${path} special`);
  };
  visit("");
  return lines;
}

/** Every file below, relative. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** What a snapshot lists as skipped. */
export function skippedIn(root: string, id: string): unknown[] {
  const text = readFileSync(join(root, ".holdfast/snapshots/taken", id, "skipped"), "utf8");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}
