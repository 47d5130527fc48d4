/** A scripted agent in a process of its own, with everything that it starts in one process group. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { linesOf, type Scene } from "../cli/command.js";

export type Kind = "hook" | "mcp";

export interface Script {
  readonly issues: number;
  readonly stops?: "before" | "after";
  readonly claimTtl?: string;
  readonly ignoresRefusals?: boolean;
}

type Said = "ready" | "refused" | "halfway" | "closed";

export class ScriptedAgent {
  readonly name: string;
  readonly owner: string;
  readonly log: string;
  readonly #process: ChildProcess;
  readonly #lines: AsyncGenerator<string>;
  readonly #over: Promise<number | null>;

  constructor(scene: Scene, kind: Kind, at: number, script: Script) {
    this.name = `${kind}-${at}`;
    this.owner = kind === "hook" ? `agent:claude-${this.name}` : `agent:${this.name}`;
    this.log = join(scene.dir, `${this.name}.log`);
    const fixture = fileURLToPath(new URL(`../fixtures/scripted-${kind}-agent.mjs`, import.meta.url));
    const told = { claimTtl: "15m", ...script, name: this.name, log: this.log };
    const { PATH = "" } = process.env;
    this.#process = spawn(process.execPath, [fixture, JSON.stringify(told)], {
      cwd: scene.root,
      env: { PATH, HOME: scene.dir, XDG_STATE_HOME: scene.state },
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
    });
    this.#process.stdin?.on("error", () => undefined);
    this.#lines = linesOf(this.#process);
    this.#over = new Promise((resolve) => this.#process.once("close", (exit) => resolve(exit)));
  }

  begin(): void {
    this.#process.stdin?.write("begin\n");
  }

  /** Before it has closed any issue. */
  async hasSaid(what: Exclude<Said, "closed">): Promise<void> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`${this.name} ended before it was ${what}`);
      const said: Partial<Record<Said, unknown>> = JSON.parse(value);
      if (what in said) return;
      if ("closed" in said) throw new Error(`${this.name} closed an issue and was never ${what}`);
    }
  }

  async isDone(): Promise<void> {
    const exit = await this.#over;
    if (exit !== 0) throw new Error(`${this.name} ended with ${exit}`);
  }

  /** With its server and its hooks, so that none of them can tidy up. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
    await this.#over;
  }
}
