/** Agents in processes of their own, which run the real command for every event, as an agent tool does. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentClient } from "../../../src/agents/hooks/call.js";
import { linesOf, type Result, type Scene } from "../../fixtures/command.fixture.js";

const AGENT = fileURLToPath(new URL("./agent-process.fixture.mjs", import.meta.url));
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

const EVENTS = {
  claude: ["PreToolUse", "SessionStart", "SessionEnd"],
  codex: ["PreToolUse", "SessionStart", "SessionEnd"],
  gemini: ["BeforeTool", "SessionStart", "SessionEnd"],
  cursor: ["preToolUse", "sessionStart", "sessionEnd"],
} as const satisfies Readonly<Record<AgentClient, readonly string[]>>;

export interface AgentOptions {
  readonly client?: AgentClient;
  /** The name of the script that the process runs; the tool's own by default only when a client is given. */
  readonly program?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What starts it, such as a shell script. Default node itself. */
  readonly through?: readonly string[];
}

export class Agent {
  readonly session: string;
  readonly client: AgentClient;
  readonly process: ChildProcess;
  readonly #lines: AsyncGenerator<string>;
  readonly #root: string;
  readonly #gone: Promise<void>;

  constructor(scene: Scene, session: string, { client, program, env = {}, through = [] }: AgentOptions = {}) {
    this.session = session;
    this.client = client ?? "claude";
    this.#root = scene.root;
    const [command = "", ...words] = [...through, ...commandOf(scene, program ?? client)];
    this.process = spawn(command, words, {
      cwd: scene.root,
      env: { ...environmentOf(scene, this.client), ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = linesOf(this.process);
    this.#gone = new Promise((resolve) => this.process.once("close", () => resolve()));
  }

  /** One at a time. */
  async tell(event: object): Promise<Result> {
    this.process.stdin?.write(`${JSON.stringify({ session_id: this.session, cwd: this.#root, ...event })}\n`);
    const { value } = await this.#lines.next();
    return JSON.parse(value ?? "null") as Result;
  }

  /** Starts what looks like its MCP server. */
  async startServer(): Promise<number> {
    return ((await this.tell({ server: true })) as unknown as { pid: number }).pid;
  }

  start(): Promise<Result> {
    return this.tell({ hook_event_name: EVENTS[this.client][1], source: "startup" });
  }

  write(file: string): Promise<Result> {
    const tool = { tool_name: this.client === "gemini" ? "write_file" : "Write", tool_input: { file_path: file } };
    return this.tell({ hook_event_name: EVENTS[this.client][0], ...tool });
  }

  /** What its shell tool runs, without the hook before it. `$HOLDFAST` is the command. */
  shell(line: string, env: Readonly<Record<string, string>> = {}): Promise<Result> {
    return this.tell({ line, env });
  }

  end(): Promise<Result> {
    return this.tell({ hook_event_name: EVENTS[this.client][2], reason: "exit" });
  }

  /** Like a power cut for it: no hook runs any more. */
  kill(): Promise<void> {
    this.process.kill("SIGKILL");
    return this.#gone;
  }
}

/** The words that start an agent. A script of this name is what an agent tool is recognized by. */
export function commandOf(scene: Scene, program = "some-agent"): readonly string[] {
  mkdirSync(join(scene.dir, "bin"), { recursive: true });
  const script = join(scene.dir, "bin", `${program}.mjs`);
  copyFileSync(AGENT, script);
  return [process.execPath, script];
}

function environmentOf(scene: Scene, client: AgentClient): Readonly<Record<string, string>> {
  const holdfast = join(scene.dir, "bin", "holdfast");
  writeFileSync(holdfast, `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
  chmodSync(holdfast, 0o755);
  const { PATH = "" } = process.env;
  return {
    PATH: `${join(scene.dir, "bin")}:${PATH}`,
    HOME: scene.dir,
    XDG_STATE_HOME: scene.state,
    HOOK_COMMAND: `holdfast hook check ${client} || exit 2`,
  };
}
