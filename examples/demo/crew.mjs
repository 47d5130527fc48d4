/** The worker processes: starting them, doing things to them, and making sure that none is left behind. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("./worker.mjs", import.meta.url));
const NAMES = ["ada", "ben", "cleo", "dora", "eli", "fay", "gus", "hana", "ivo", "june", "kai", "lena"];
const LAST_WORDS_CHARS = 2_000;

export class Crew {
  names;
  kills = [];
  crashes = [];
  stops = 0;
  #root;
  #report;
  #members = new Map();

  constructor(root, size, report) {
    this.#root = root;
    this.#report = report;
    this.names = NAMES.slice(0, size);
  }

  get running() {
    return [...this.#members.values()].filter((member) => member.state === "running");
  }

  start(name) {
    const child = fork(WORKER, [this.#root, name], { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] });
    const member = { name, pid: child.pid ?? 0, child, state: "running", holding: null, lastWords: "" };
    this.#members.set(name, member);
    child.stderr?.on("data", (text) => {
      member.lastWords = `${member.lastWords}${text.toString()}`.slice(-LAST_WORDS_CHARS);
    });
    child.on("message", (message) => this.#hear(member, message));
    child.on("error", (error) => this.#crash(member, error.message));
    child.once("close", (code, signal) => this.#close(member, code, signal));
    this.#report({ kind: "started", name, pid: member.pid });
  }

  kill(member) {
    this.#report({ kind: "killed", name: member.name, holding: member.holding });
    member.state = "killed";
    const at = Date.now();
    if (member.child.kill("SIGKILL")) this.kills.push({ pid: member.pid, at });
  }

  stop(member) {
    member.state = "stopped";
    member.child.kill("SIGSTOP");
    this.stops += 1;
    this.#report({ kind: "stopped", name: member.name, holding: member.holding });
  }

  resume(member) {
    if (member.state !== "stopped") return;
    this.#report({ kind: "resumed", name: member.name, holding: member.holding });
    member.state = "running";
    member.child.kill("SIGCONT");
  }

  /** Wakes the frozen, lets everybody end what they are at, and waits until all are gone. */
  async finish(withinMs) {
    const members = [...this.#members.values()];
    for (const member of members) this.resume(member);
    for (const member of this.running) {
      member.state = "finishing";
      member.child.send("finish", () => undefined);
    }
    const late = setTimeout(() => {
      for (const member of members) if (member.state === "finishing") this.#crash(member, "it did not finish in time");
      this.destroy();
    }, withinMs);
    await this.gone();
    clearTimeout(late);
  }

  /** Ends every process at once, frozen or not. */
  destroy() {
    for (const member of this.#members.values()) {
      if (member.state === "gone") continue;
      member.state = "killed";
      member.child.kill("SIGKILL");
    }
  }

  async gone() {
    const alive = [...this.#members.values()].filter((member) => member.state !== "gone");
    await Promise.all(alive.map((member) => once(member.child, "close")));
  }

  #hear(member, message) {
    if (member.state === "killed") return;
    member.holding = message.kind === "holding" ? message.file : null;
    this.#report({ ...message, name: member.name });
  }

  #close(member, code, signal) {
    const isExpected = member.state === "killed" ? signal === "SIGKILL" : member.state === "finishing" && code === 0;
    if (!isExpected) this.#crash(member, `${signal ?? `exit code ${code}`} ${member.lastWords}`.trim());
    else if (member.state === "finishing") this.#report({ kind: "ended", name: member.name });
    member.state = "gone";
  }

  #crash(member, why) {
    if (member.child.pid === undefined) member.state = "gone";
    this.crashes.push(`${member.name}: ${why}`);
    this.#report({ kind: "crashed", name: member.name, why: why.split("\n", 1)[0] ?? why });
  }
}
