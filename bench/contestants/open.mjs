// Everything that can be measured, by name. A contestant keeps its files in a folder of its own and offers
// `take(keys)`, whose result has `release()`, and `close()`.
import { openBareLine } from "./bare-line.mjs";
import { openBoardIn } from "./board.mjs";
import {
  openAtomicCounter,
  openConfCounter,
  openDocumentCounter,
  openLockfileCounter,
  openLowdbCounter,
} from "./counters.mjs";
import { HEART_AT_REST, openHoldfastOn } from "./holdfast.mjs";
import { openKernelLock } from "./kernel-lock.mjs";
import { openLeaseRow } from "./lease-row.mjs";
import {
  openPostgresAdvisoryLock,
  openPostgresBareNotify,
  openPostgresDurableLine,
  openPostgresLeaseRow,
} from "./postgres-peers.mjs";
import { openProperLockfile } from "./proper-lockfile.mjs";
import { openBareScript, openPublisher } from "./publishers.mjs";

const EVERY_10_MS = { forever: true, factor: 1, minTimeout: 10, maxTimeout: 10 };

const CONTESTANTS = {
  file: (folder) => openHoldfastOn(storeIn("file", folder)),
  sqlite: (folder) => openHoldfastOn(storeIn("sqlite", folder)),
  memory: () => openHoldfastOn("memory:bench"),
  "file-at-rest": (folder) => openHoldfastOn(storeIn("file", folder), HEART_AT_REST),
  "sqlite-at-rest": (folder) => openHoldfastOn(storeIn("sqlite", folder), HEART_AT_REST),
  "proper-lockfile": (folder) => openProperLockfile(folder, 0),
  "proper-lockfile-10ms": (folder) => openProperLockfile(folder, EVERY_10_MS),
  "lease-row": openLeaseRow,
  // For these the folder is a URL.
  postgres: (url) => openHoldfastOn(url),
  "postgres-lease-row": openPostgresLeaseRow,
  "postgres-advisory": openPostgresAdvisoryLock,
  "postgres-durable-line": openPostgresDurableLine,
  "postgres-bare-notify": openPostgresBareNotify,
  "kernel-lock": openKernelLock,
  "bare-line": openBareLine,
  publisher: openPublisher,
  "bare-script": openBareScript,
  "document-counter": openDocumentCounter,
  "lockfile-counter": openLockfileCounter,
  "atomic-counter": openAtomicCounter,
  "lowdb-counter": openLowdbCounter,
  "conf-counter": openConfCounter,
  board: openBoardIn,
};

export async function openContestant(name, folder) {
  return CONTESTANTS[name](folder);
}

export function storeIn(kind, folder) {
  return kind === "sqlite" ? `sqlite:${databaseIn(folder)}` : `${kind}:${folder}`;
}

export function databaseIn(folder) {
  return `${folder}/holdfast.db`;
}
