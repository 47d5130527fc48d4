/** The state of the fight as the live views show it: a row per worker, totals, and the story so far. */
import { tellStory } from "./events.mjs";

/** How long a refusal stays in sight before everyday work takes its place. */
const REFUSAL_SHOWN_MS = 1_500;

export class Scoreboard {
  totalMs;
  rows;
  story = [];
  hasBegun = false;
  totals = { updates: 0, kills: 0, freezes: 0, takeovers: 0, refused: 0 };
  #startedAt = performance.now();

  constructor(names, totalMs) {
    this.totalMs = totalMs;
    this.rows = new Map(names.map((name) => [name, newRow(name)]));
  }

  /** Everybody is at work: the clock starts. */
  begin() {
    this.#startedAt = performance.now();
    this.hasBegun = true;
  }

  get elapsedMs() {
    return performance.now() - this.#startedAt;
  }

  /** How things stand, in a line. */
  get summary() {
    const { updates, kills, freezes, takeovers, refused } = this.totals;
    return `updates ${updates}, kills ${kills}, freezes ${freezes}, takeovers ${takeovers}, stale writes refused ${refused}`;
  }

  /** Takes the event in, and returns the line it adds to the story, if any. */
  note(event) {
    const row = this.rows.get(event.name);
    if (row !== undefined) this.#change(row, event);
    const text = tellStory(event);
    if (text === null) return null;
    const line = { atMs: this.elapsedMs, kind: event.kind, text };
    this.story.push(line);
    return line;
  }

  #change(row, event) {
    const { totals } = this;
    switch (event.kind) {
      case "started":
        Object.assign(row, { state: "starting", file: "", pid: event.pid, last: "started" });
        break;
      case "waiting":
      case "holding":
        if (this.elapsedMs > row.shownUntil) Object.assign(row, { state: event.kind, file: event.file });
        break;
      case "acknowledged":
        totals.updates += 1;
        row.updates += 1;
        break;
      case "refused":
        totals.refused += 1;
        row.refused += 1;
        row.shownUntil = this.elapsedMs + REFUSAL_SHOWN_MS;
        Object.assign(row, { state: "refused", file: event.file, last: "stale write" });
        break;
      case "killed":
        totals.kills += 1;
        Object.assign(row, { state: "killed", file: event.holding ?? "", last: "SIGKILL" });
        break;
      case "stopped":
        totals.freezes += 1;
        Object.assign(row, { state: "stopped", file: event.holding ?? "", last: "SIGSTOP" });
        break;
      case "resumed":
        row.last = "SIGCONT";
        break;
      case "takeover":
        totals.takeovers += 1;
        row.takeovers += 1;
        row.last = `took over ${event.from}'s`;
        break;
      case "ended":
        Object.assign(row, { state: "done", file: "" });
        break;
      case "crashed":
        Object.assign(row, { state: "crashed", file: "", last: event.why });
        break;
    }
  }
}

function newRow(name) {
  return { name, pid: 0, state: "starting", file: "", updates: 0, refused: 0, takeovers: 0, last: "", shownUntil: 0 };
}
