/**
 * Keeps the lease tokens of detached grants for the user that acquired them:
 *
 *   <state>/holdfast/grants/<store>/<key>-<owner>-<random>.json     folders mode 0700, files mode 0600
 *
 * `<state>` is XDG_STATE_HOME or ~/.local/state; store, key and owner are hashes. A file is on the disk before the request
 * for the lock is sent, so the token of every grant is there, whatever crashes afterwards. The state in the file changes in
 * place from `asked` to `given` when the lock is granted. A crash can leave a file without a grant, or a file of a grant
 * that still says `asked`. The first has no use, and a search for that key a day later removes it; the second works like
 * any other. Only a token that is `given` can show that its grant was lost: an `asked` one without a grant may belong to a
 * process that waits in the queue.
 *
 * Only files of the same OS user are read: mode 0600 keeps other users out, and this module keeps root out.
 */
import { hash, randomBytes } from "node:crypto";
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { HoldfastError, ioError } from "../../base/errors.js";
import { createSynced, removeQuietly, syncFolder } from "../../files/durable-file.js";
import { ifReadable } from "../../files/readable.js";
import { namesIn } from "../../platform/names-in.js";

const TOKEN_SCHEMA = 1;
/** The two have one length, so that one is written over the other where it stands. */
const ASKED = '"state":"asked"';
const GIVEN = '"state":"given"';

interface KeptToken {
  readonly schema_version: number;
  readonly store: string;
  readonly owner: string;
  readonly resource: string;
  readonly lease_token: string;
  readonly created_at: string;
  readonly state: "asked" | "given";
}

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

export function openTokenFiles(env: NodeJS.ProcessEnv, store: string, owner: string): TokenFiles {
  const dir = join(stateFolder(env), "holdfast", "grants", digest(store));
  const prefixOf = (key: string): string => `${digest(key)}-${digest(owner)}-`;
  const kept = (keys: readonly string[], token: string): FoundToken[] =>
    keys.flatMap((key) => find(key).filter((each) => each.lease_token === token));
  const find = (key: string): FoundToken[] =>
    namesIn(dir)
      .filter((name) => name.startsWith(prefixOf(key)))
      .flatMap((name) => readToken(join(dir, name)) ?? [])
      .filter((kept) => kept.resource === key && kept.owner === owner && kept.store === store)
      .sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return {
    keep(keys, token, now) {
      const paths: string[] = [];
      try {
        mkdirSync(dir, { recursive: true, mode: 0o700 });
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
export function tokensOf(env: NodeJS.ProcessEnv, store: string, owner: string): readonly FoundToken[] {
  const dir = join(stateFolder(env), "holdfast", "grants", digest(store));
  return namesIn(dir)
    .filter((name) => name.includes(`-${digest(owner)}-`))
    .flatMap((name) => readToken(join(dir, name)) ?? [])
    .filter((kept) => kept.owner === owner && kept.store === store);
}

/** Everything that was kept for this user and store, whoever the owner. */
export function allTokens(env: NodeJS.ProcessEnv, store: string): readonly FoundToken[] {
  const dir = join(stateFolder(env), "holdfast", "grants", digest(store));
  return namesIn(dir).flatMap((name) => readToken(join(dir, name)) ?? []);
}

/** Where what one user keeps for later lies: XDG_STATE_HOME or ~/.local/state. `E_CONFIG` for a user without a home. */
export function stateFolder(env: NodeJS.ProcessEnv): string {
  const said = env.XDG_STATE_HOME;
  if (said !== undefined && isAbsolute(said)) return said;
  const home = [homedir, () => userInfo().homedir].map(orNone).find(isAbsolute);
  if (home !== undefined) return join(home, ".local", "state");
  throw new HoldfastError(
    "E_CONFIG",
    "there is no place for your lease tokens: HOME is not set, and you have no home",
    {
      reason: "invalid_value",
      details: { field: "XDG_STATE_HOME" },
      next: ["Set XDG_STATE_HOME to a folder that is yours alone."],
    },
  );
}

/** The system throws for a user it does not know, as there are in containers. An empty HOME is none, either. */
function orNone(ask: () => string): string {
  try {
    return ask();
  } catch {
    return "";
  }
}

/** Names a store or an owner in the name of a file. */
export function digest(text: string): string {
  return hash("sha256", text, "hex").slice(0, 16);
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

/** Null for what is not ours or cannot be read: it is no token then. */
function readToken(path: string): FoundToken | null {
  try {
    return ifReadable(path, (fd) => {
      // mutant: token-of-another-user: if (process.getuid !== undefined && fstatSync(fd).uid !== process.getuid()) return null; →
      if (process.getuid !== undefined && fstatSync(fd).uid !== process.getuid()) return null;
      const kept = JSON.parse(readFileSync(fd, "utf8")) as KeptToken;
      return kept.schema_version === TOKEN_SCHEMA ? { ...kept, path } : null;
    });
  } catch {
    return null;
  }
}
