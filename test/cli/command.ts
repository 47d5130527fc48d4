/** The real command in a process of its own, with a workspace, a home and an environment of its own. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { type Holdfast, type LockStatus, openHoldfast } from "../../src/index.js";

// Every step starts a process, and a busy machine may take seconds for one.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export interface Result {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests look at
export type Json = any;

export interface Document {
  readonly ok: boolean;
  readonly command: string;
  readonly data: Json;
  readonly error: Json;
  readonly exit: number | null;
}

export interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Loaded before the command. */
  readonly preload?: string;
  readonly uid?: number;
}

export class Scene {
  readonly dir = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  readonly root = join(this.dir, "workspace");
  readonly state = join(this.dir, "state");
  #library: Promise<Holdfast> | undefined;
  readonly #started = new Set<ChildProcess>();

  constructor() {
    mkdirSync(this.root);
  }

  start(words: readonly string[], { env = {}, cwd = this.root, preload, uid }: Options = {}): ChildProcess {
    const child = spawn(process.execPath, [...(preload === undefined ? [] : ["--require", preload]), MAIN, ...words], {
      cwd,
      env: { ...this.#env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    this.#started.add(child);
    child.once("exit", () => this.#started.delete(child));
    return child;
  }

  /** A line of a shell, to which `"$0" "$1"` is the command and the words stand behind that. */
  inShell(line: string, words: readonly string[]): Result {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", line, process.execPath, MAIN, ...words], {
      cwd: this.root,
      env: this.#env,
      encoding: "utf8",
    });
    return { exit: status, stdout, stderr };
  }

  get #env(): NodeJS.ProcessEnv {
    const { PATH = "" } = process.env;
    return { PATH, HOME: this.dir, XDG_STATE_HOME: this.state };
  }

  async run(words: readonly string[], options?: Options): Promise<Result> {
    return ended(this.start(words, options));
  }

  /** With `--json`: exactly one document on stdout, or this throws. */
  async json(words: readonly string[], options?: Options): Promise<Document> {
    const { stdout, stderr, exit } = await this.run([...words, "--json"], options);
    const lines = stdout.split("\n");
    if (lines.length !== 2 || lines[1] !== "") throw new Error(`not one document: ${JSON.stringify(stdout)} ${stderr}`);
    return { ...(JSON.parse(lines[0] ?? "") as Omit<Document, "exit">), exit };
  }

  /** The data of a command that must succeed. */
  async data(words: readonly string[], options?: Options): Promise<Json> {
    const document = await this.json(words, options);
    if (!document.ok) throw new Error(JSON.stringify(document.error));
    return document.data;
  }

  /** What the store says, without the price of a process. */
  async inspect(key: string): Promise<LockStatus> {
    this.#library ??= openHoldfast({ root: this.root, heart: "loop" });
    return (await this.#library).inspect(key);
  }

  async close(): Promise<void> {
    await (await this.#library)?.close();
    const over = [...this.#started].map((child) => once(child, "exit"));
    for (const child of this.#started) child.kill("SIGKILL");
    await Promise.all(over);
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

export async function openScene(): Promise<Scene> {
  const scene = new Scene();
  await scene.data(["init"]);
  return scene;
}

export function ended(child: ChildProcess): Promise<Result> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (text) => {
    stdout += text;
  });
  child.stderr?.on("data", (text) => {
    stderr += text;
  });
  return new Promise((resolve) => child.once("close", (exit) => resolve({ exit, stdout, stderr })));
}

/** Lines as they come. What nobody asks for is read all the same: it keeps no process from ending. */
export function linesOf(child: ChildProcess): AsyncGenerator<string> {
  const lines: string[] = [];
  let rest = "";
  let isOver = false;
  child.stdout?.on("data", (text) => {
    const parts = `${rest}${text}`.split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  });
  child.once("close", () => {
    isOver = true;
  });
  return (async function* () {
    while (!isOver || lines.length > 0) {
      const line = lines.shift();
      if (line !== undefined) yield line;
      else await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
}
