/** A shell in a terminal of its own, with somebody who types. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { until } from "../../fixtures/run/run.fixture.js";

/** Whether this machine has what it takes: a bash, and `script` to make a terminal. */
export const HAS_TERMINALS =
  process.platform === "linux" &&
  ["bash", "script"].every((program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0);

export const CTRL_C = "\x03";
export const CTRL_Z = "\x1a";
export const CTRL_BACKSLASH = "\x1c";

/** Of a bash that has read no file. */
export const PROMPT = /bash-[\d.]+[$#] $/;

export class Terminal {
  readonly #script: ChildProcess;
  #screen = "";
  #seen = 0;

  constructor(env: NodeJS.ProcessEnv, cwd: string) {
    this.#script = spawn("script", ["-qec", "bash --norc --noprofile -i", "/dev/null"], {
      cwd,
      env: { ...env, TERM: "dumb" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#script.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#screen += text;
    });
  }

  /** Types, and waits for an answer that was not there before. What is typed is echoed: ask for something else. */
  async type(text: string, answer: RegExp): Promise<string> {
    this.#seen = this.#screen.length;
    this.#script.stdin?.write(text);
    return this.sees(answer);
  }

  /** Types, and waits for the answer and for the shell behind it: what is typed earlier may go to whoever is on his way out. */
  command(text: string, answer: RegExp): Promise<string> {
    return this.type(text, new RegExp(`${answer.source}[\\s\\S]*${PROMPT.source}`));
  }

  /** Waits for an answer to what was typed last. */
  async sees(answer: RegExp): Promise<string> {
    await until(`${answer} on the screen: ${this.#screen}`, () => answer.test(this.#screen.slice(this.#seen)));
    const found = answer.exec(this.#screen.slice(this.#seen));
    return found?.[1] ?? found?.[0] ?? "";
  }

  /** Closes the window: the shell and its jobs are hung up on. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#script, "exit");
    if (this.#script.exitCode === null && this.#script.signalCode === null) {
      this.#script.kill("SIGKILL");
      await ended;
    }
  }
}
