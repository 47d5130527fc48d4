/**
 * PgBouncer in transaction mode in front of a test server: each transaction may get another backend than the one before.
 * It listens on a socket in a folder of its own, and runs as the user the server runs as.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, chownSync, constants, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { databaseOf } from "../../fixtures/postgres/server.fixture.js";
import { PATIENCE } from "../../fixtures/postgres/server-process.fixture.mjs";

const NOBODY = 65_534;
const PORT = 6432;

/** Its program, or null where it is not installed. */
export const pgbouncer: string | null = findProgram();

export interface Pooler {
  /** The same database, through the pooler. */
  through(url: string): string;
  close(): Promise<void>;
}

export async function openPooler(socketFolder: string, backends: number): Promise<Pooler> {
  if (pgbouncer === null) throw new Error("pgbouncer is not installed");
  const home = mkdtempSync(join(tmpdir(), "holdfast-pooler-"));
  const config = join(home, "pgbouncer.ini");
  writeFileSync(join(home, "users"), '"postgres" ""\n');
  writeFileSync(
    config,
    `[databases]
* = host=${socketFolder} port=5432
[pgbouncer]
listen_addr =
unix_socket_dir = ${home}
listen_port = ${PORT}
auth_type = trust
auth_file = ${join(home, "users")}
pool_mode = transaction
default_pool_size = ${backends}
server_round_robin = 1
max_client_conn = 200
`,
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) for (const each of [home, config, join(home, "users")]) chownSync(each, NOBODY, NOBODY);
  const child = spawn(pgbouncer, [config], {
    stdio: "ignore",
    cwd: home,
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await untilListening(child, join(home, `.s.PGSQL.${PORT}`));
  return {
    through: (url) => `postgres://postgres@/${databaseOf(url)}?host=${home}&port=${PORT}&${PATIENCE}`,
    async close() {
      child.kill("SIGKILL");
      await ended;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function untilListening(child: ChildProcess, socket: string): Promise<void> {
  for (let times = 0; !existsSync(socket); times += 1) {
    if (times > 3_000 || child.exitCode !== null) throw new Error("pgbouncer did not start");
    await sleep(10);
  }
}

function findProgram(): string | null {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, "pgbouncer")).find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
