/** Agents in processes of their own, which run the real command for every event, as a client does. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { linesOf, type Result, type Scene } from "../../fixtures/command.fixture.js";

const AGENT = fileURLToPath(new URL("./agent-process.fixture.mjs", import.meta.url));
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

export class Agent {
  readonly session: string;
  readonly #process: ChildProcess;
  readonly #lines: AsyncGenerator<string>;
  readonly #root: string;
  readonly #gone: Promise<void>;

  constructor(scene: Scene, session: string) {
    this.session = session;
    this.#root = scene.root;
    const { PATH = "" } = process.env;
    const HOOK_COMMAND = `"${process.execPath}" "${MAIN}" hook check claude || exit 2`;
    this.#process = spawn(process.execPath, [AGENT], {
      cwd: scene.root,
      env: { PATH, HOME: scene.dir, XDG_STATE_HOME: scene.state, HOOK_COMMAND },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = linesOf(this.#process);
    this.#gone = new Promise((resolve) => this.#process.once("close", () => resolve()));
  }

  /** One at a time. */
  async tell(event: object): Promise<Result> {
    this.#process.stdin?.write(`${JSON.stringify({ session_id: this.session, cwd: this.#root, ...event })}\n`);
    const { value } = await this.#lines.next();
    return JSON.parse(value ?? "null") as Result;
  }

  /** Starts what looks like its MCP server. */
  async startServer(): Promise<number> {
    return ((await this.tell({ server: true })) as unknown as { pid: number }).pid;
  }

  start(): Promise<Result> {
    return this.tell({ hook_event_name: "SessionStart", source: "startup" });
  }

  write(file: string): Promise<Result> {
    return this.tell({ hook_event_name: "PreToolUse", tool_name: "Write", tool_input: { file_path: file } });
  }

  end(): Promise<Result> {
    return this.tell({ hook_event_name: "SessionEnd", reason: "exit" });
  }

  /** Like a power cut for it: no hook runs any more. */
  kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    return this.#gone;
  }
}
