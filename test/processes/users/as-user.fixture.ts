/** Commands that are given by other users of the system, with their own groups and umask. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";

export const COMMAND = resolve("dist/cli/main.js");
const GROUP = 50_100;

export interface User {
  readonly uid: number;
  readonly inGroup: boolean;
  readonly umask: string;
}

export const ALICE: User = { uid: 50_001, inGroup: true, umask: "077" };
export const BOB: User = { uid: 50_002, inGroup: true, umask: "077" };
export const CAROL: User = { uid: 50_003, inGroup: true, umask: "022" };
export const OUTSIDER: User = { uid: 50_009, inGroup: false, umask: "022" };
export const ROOT: User = { uid: 0, inGroup: false, umask: "077" };

/** Whether this process may become other users, and they may read this project. */
export function canBeOthers(): boolean {
  if (process.getuid?.() !== 0 || process.platform !== "linux") return false;
  const [program, ...words] = commandOf(OUTSIDER, ["node", COMMAND, "--version"]);
  return spawnSync(program ?? "", words, { cwd: "/" }).status === 0;
}

export interface Answer {
  readonly exit: number;
  readonly text: string;
}

/** A workspace that belongs to Alice, and in which a group works if `mode` says so. */
export class SharedFolder {
  readonly dir = mkdtempSync(join(tmpdir(), "holdfast-users-"));
  readonly root = join(this.dir, "work");

  constructor(mode: number, store: "sqlite" | "file") {
    onTestFinished(() => rmSync(this.dir, { recursive: true, force: true }));
    chmodSync(this.dir, 0o755);
    mkdirSync(this.root);
    chownSync(this.root, ALICE.uid, GROUP);
    chmodSync(this.root, mode);
    if (store === "sqlite") return;
    const config = join(this.root, "holdfast.config.json");
    writeFileSync(config, JSON.stringify({ store: "file:.holdfast/store" }));
    chmodSync(config, 0o644);
  }

  start(user: User, words: readonly string[]): ChildProcess {
    const [program = "", ...rest] = commandOf(user, words);
    const child = spawn(program, rest, { cwd: this.root, env: this.#envOf(user), stdio: ["ignore", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  }

  run(user: User, words: readonly string[], root = this.root): Answer {
    const [program = "", ...rest] = commandOf(user, words);
    const { status, stdout, stderr } = spawnSync(program, rest, {
      cwd: root,
      env: this.#envOf(user),
      encoding: "utf8",
    });
    return { exit: status ?? -1, text: stdout + stderr };
  }

  holdfast(user: User, ...words: string[]): Answer {
    return this.run(user, ["node", COMMAND, ...words]);
  }

  #envOf({ uid }: User): NodeJS.ProcessEnv {
    const home = join(this.dir, `home-${uid}`);
    mkdirSync(home, { recursive: true });
    chownSync(home, uid, uid);
    return { PATH: process.env.PATH, HOME: home };
  }
}

function commandOf({ uid, inGroup, umask }: User, words: readonly string[]): readonly string[] {
  const [program = "", ...rest] = words;
  const line = [program === "node" ? process.execPath : program, ...rest];
  const inShell = ["sh", "-c", `umask ${umask}; exec "$@"`, "sh", ...line];
  if (uid === 0) return inShell;
  const groups = inGroup ? ["--groups", String(GROUP)] : ["--clear-groups"];
  return ["setpriv", "--reuid", String(uid), "--regid", String(uid), ...groups, "--inh-caps=-all", ...inShell];
}
