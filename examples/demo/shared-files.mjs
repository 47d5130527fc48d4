/**
 * The two files everybody wants to write. Each is read, changed and written back whole, which is how updates get lost
 * when nobody guards them. Each also carries what it takes to notice: the id and the fencing token of every update, and
 * sums that only come out right when no update was overwritten.
 */
import { renameSync, writeFileSync } from "node:fs";

const TASKS = ["build", "docs", "review", "tests"];

const board = {
  name: "board.json",
  empty: JSON.stringify({ tasks: Object.fromEntries(TASKS.map((task) => [task, 0])), updates: [] }),
  add(text, update) {
    const { tasks, updates } = JSON.parse(text);
    const task = TASKS[update.token % TASKS.length] ?? TASKS[0];
    const counted = { ...tasks, [task]: (tasks[task] ?? 0) + 1 };
    return JSON.stringify({ tasks: counted, updates: [...updates, { ...update, task }] });
  },
  read(text) {
    const { tasks, updates } = JSON.parse(text);
    const wrong = Object.entries(tasks).find(
      ([task, count]) => updates.filter((update) => update.task === task).length !== count,
    );
    return { updates, problem: wrong === undefined ? null : `the counter of ${wrong[0]} is off` };
  },
};

/** A line is `id token amount balance`. */
const ledger = {
  name: "ledger.txt",
  empty: "",
  add(text, { id, token }) {
    const last = text.trimEnd().split("\n").at(-1)?.split(" ") ?? [];
    const amount = (token % 9) + 1;
    return `${text}${id} ${token} ${amount} ${Number(last[3] ?? 0) + amount}\n`;
  },
  read(text) {
    let balance = 0;
    let problem = null;
    const updates = text.split("\n").flatMap((line, at) => {
      if (line === "") return [];
      const [id = "", token, amount, after] = line.split(" ");
      balance += Number(amount);
      if (balance !== Number(after)) problem ??= `the balance is off at line ${at + 1}`;
      return [{ id, token: Number(token) }];
    });
    return { updates, problem };
  },
};

export const SHARED_FILES = [board, ledger];

/** There whole or not at all: a kill in the middle leaves the old file. */
export function replaceFile(path, text) {
  const aside = `${path}.${process.pid}.new`;
  writeFileSync(aside, text);
  renameSync(aside, path);
}
