/**
 * Keeps the lease tokens of detached grants for the user that acquired them, in the folder of token-folder.ts:
 *
 *   <key>-<owner>-<random>.json     mode 0600
 *
 * Key and owner are hashes. A file is on the disk before the request for the lock is sent, so the token of every grant
 * is there, whatever crashes afterwards. The state in the file changes in place from `asked` to `given` when the lock is
 * granted. A crash can leave a file without a grant, or a file of a grant that still says `asked`. The first has no use,
 * and a search for that key a day later removes it; the second works like any other. Only a token that is `given` can
 * show that its grant was lost: an `asked` one without a grant may belong to a process that waits in the queue.
 *
 * Only files of the same OS user are read: mode 0600 keeps other users out, and this module keeps root out.
 */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ioError } from "../../base/errors.js";
import { createSynced, removeQuietly, syncFolder } from "../../files/durable-file.js";
import { namesIn } from "../../platform/look-up.js";
import { readOwnFile } from "./own-file.js";
import { digest, isOwn, makeTokenFolder, type TokenFolder } from "./token-folder.js";

const TOKEN_SCHEMA = 1;
/** The two have one length, so that one is written over the other where it stands. */
const ASKED = '"state":"asked"';
const GIVEN = '"state":"given"';
const TOKEN_NAME = /^[0-9a-f]{16}-[0-9a-f]{16}-[0-9a-f]{12}\.json$/;

interface KeptToken {
  readonly schema_version: number;
  readonly store: string;
  readonly owner: string;
  readonly resource: string;
  readonly lease_token: string;
  readonly created_at: string;
  readonly taken_by: TakenBy;
  readonly state: "asked" | "given";
}

/**
 * The hook of an agent's run takes files for the run; what a command takes is that command's. What belongs to the lock of a
 * deliverable folder ends with that lock, not with the run.
 */
export type TakenBy = "hook" | "command" | "deliverable";

export interface FoundToken extends KeptToken {
  readonly path: string;
}

export interface TokenFiles {
  /** Durable when it returns. `E_IO` when it cannot be kept: then the lock must not be asked for. */
  keep(keys: readonly string[], token: string, now: Date): void;
  /** Notes that what was asked for with this token has been given. */
  noteGiven(keys: readonly string[], token: string): void;
  /** What was kept for this key under this owner's name, newest first. */
  find(key: string): readonly FoundToken[];
  /** Removes what was kept for these keys with this token. */
  forget(keys: readonly string[], token: string): void;
}

export function openTokenFiles(folder: TokenFolder, owner: string, takenBy: TakenBy = "command"): TokenFiles {
  const { path: dir, store } = folder;
  const prefixOf = (key: string): string => `${digest(key)}-${digest(owner)}-`;
  const kept = (keys: readonly string[], token: string): FoundToken[] =>
    keys.flatMap((key) => find(key).filter((each) => each.lease_token === token));
  const find = (key: string): FoundToken[] =>
    tokensIn(folder, (name) => name.startsWith(prefixOf(key)))
      .filter((kept) => kept.resource === key && kept.owner === owner)
      .sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return {
    keep(keys, token, now) {
      makeTokenFolder(folder);
      const paths: string[] = [];
      try {
        for (const resource of keys) {
          const path = join(dir, `${prefixOf(resource)}${randomBytes(6).toString("hex")}.json`);
          paths.push(path);
          writeToken(path, {
            schema_version: TOKEN_SCHEMA,
            store,
            owner,
            resource,
            lease_token: token,
            created_at: now.toISOString(),
            taken_by: takenBy,
            state: "asked",
          });
        }
        syncFolder(dir);
      } catch (error) {
        for (const path of paths) removeQuietly(path);
        throw ioError(error, "keep the lease token in", dir);
      }
    },
    find,
    noteGiven(keys, token) {
      for (const { path, state } of kept(keys, token)) if (state === "asked") writeGiven(path);
    },
    forget(keys, token) {
      for (const { path } of kept(keys, token)) removeQuietly(path);
    },
  };
}

/** Everything that was kept for this owner. */
export function tokensOf(folder: TokenFolder, owner: string): readonly FoundToken[] {
  return tokensIn(folder, (name) => name.includes(`-${digest(owner)}-`)).filter((kept) => kept.owner === owner);
}

/** Everything that was kept for this user and store, for all owners. */
export function allTokens(folder: TokenFolder): readonly FoundToken[] {
  return tokensIn(folder, () => true);
}

function tokensIn({ path, store }: TokenFolder, isWanted: (name: string) => boolean): FoundToken[] {
  const names = namesIn(path).filter((name) => TOKEN_NAME.test(name) && isWanted(name));
  if (names.length === 0 || !isOwn(path)) return [];
  return names.flatMap((name) => readToken(join(path, name)) ?? []).filter((kept) => kept.store === store);
}

function writeToken(path: string, kept: KeptToken): void {
  createSynced(path, Buffer.from(`${JSON.stringify(kept)}\n`), 0o600);
}

/** Without a sync, and without a word when it cannot be: a file that still says asked takes nothing from its token. */
function writeGiven(path: string): void {
  try {
    const at = readFileSync(path).indexOf(ASKED);
    const fd = openSync(path, "r+");
    try {
      if (at >= 0) writeSync(fd, GIVEN, at);
    } finally {
      closeSync(fd);
    }
  } catch {
    // It was given back meanwhile, or the disk is read-only.
  }
}

/** Null for a file of another user, and for one that cannot be read. */
function readToken(path: string): FoundToken | null {
  const kept = readOwnFile(path) as KeptToken | null;
  return kept?.schema_version === TOKEN_SCHEMA ? { ...kept, path } : null;
}
