/** A workspace with a board, processes that work on it, and what must be true of it whatever they did. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { type Board, type Issue, openBoard } from "../../src/board/board.js";
import { requireAcyclic } from "../../src/board/dependencies.js";
import { summaryOf } from "../../src/board/index-file.js";
import { type Holdfast, isHoldfastError, openHoldfast } from "../../src/index.js";

const WORKER = fileURLToPath(new URL("../fixtures/board-worker.mjs", import.meta.url));

export interface Place extends AsyncDisposable {
  readonly root: string;
  readonly dir: string;
  readonly holdfast: Holdfast;
  readonly board: Board;
  /** Another client of the same board, in this process. */
  open(owner: string): Promise<{ readonly holdfast: Holdfast; readonly board: Board }>;
  close(): Promise<void>;
}

export async function newPlace(): Promise<Place> {
  const root = mkdtempSync(join(tmpdir(), "holdfast-board-"));
  const dir = join(root, ".holdfast", "board");
  const opened: Holdfast[] = [];
  const open = async (owner: string) => {
    const holdfast = await openHoldfast({ root, owner, heart: "loop" });
    opened.push(holdfast);
    return { holdfast, board: openBoard(holdfast, dir) };
  };
  const close = async (): Promise<void> => {
    for (const holdfast of opened.splice(0)) await holdfast.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  };
  return { root, dir, open, close, [Symbol.asyncDispose]: close, ...(await open("agent:test")) };
}

export interface Worker {
  readonly process: ChildProcess;
  /** What it was told so far. */
  told(): Record<string, unknown>[];
  /** Rejects unless it ends well. */
  ended(): Promise<Record<string, unknown>[]>;
  kill(): Promise<void>;
}

export function startWorker(root: string, owner: string, job: Record<string, unknown>): Worker {
  const child = spawn(process.execPath, [WORKER, root, owner, JSON.stringify(job)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, errors] = ["", ""];
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const closed = once(child, "close") as Promise<[number | null, string | null]>;
  const told = (): Record<string, unknown>[] =>
    out
      .slice(0, out.lastIndexOf("\n") + 1)
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    process: child,
    told,
    async ended() {
      const [code, signal] = await closed;
      if (code !== 0) throw new Error(`${owner} ended with ${signal ?? code}: ${errors}`);
      return told();
    },
    async kill() {
      child.kill("SIGKILL");
      await closed;
      if (errors !== "") throw new Error(`${owner}: ${errors}`);
    },
  };
}

/** Several workers with a job each; what they were told, in no order. */
export async function crowd(root: string, jobs: readonly Record<string, unknown>[]) {
  const workers = jobs.map((job, at) => startWorker(root, `agent:${at}`, job));
  return (await Promise.all(workers.map((worker) => worker.ended()))).flat();
}

/** Whoever sleeps longer than the claim is, in the middle of claiming, has to claim again. */
export async function claimShortly(board: Board, id: string): ReturnType<Board["claim"]> {
  for (;;) {
    const claimed = await board.claim(id, { ttl: "3s" }).catch((error: unknown) => {
      if (!isHoldfastError(error, "E_LOCK_EXPIRED")) throw error;
    });
    if (claimed !== undefined) return claimed;
  }
}

/** The three properties, and what follows from them: no index corruption, a graph without cycles, sound files and events. */
export async function expectSoundBoard(board: Board): Promise<readonly Issue[]> {
  const names = readdirSync(join(board.dir, "issues"));
  expect(
    names.filter((name) => !/^\d+\.json$/.test(name)),
    "nothing but issues",
  ).toEqual([]);
  const { issues } = await board.export();
  expect(issues.map(({ id }) => `${id}.json`).sort()).toEqual(names.sort());
  const { issues: listed } = await board.list({ limit: 10_000 });
  expect(listed).toEqual(issues.map(summaryOf));
  const byId = new Map(issues.map((issue) => [issue.id, issue]));
  requireAcyclic(byId.keys(), (id) => byId.get(id)?.dependencies ?? null);
  const lines = readFileSync(join(board.dir, "events.jsonl"), "utf8").trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line) as { seq: number; id: string; revision: number });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
  const revisions = new Map<string, number>();
  for (const { id, revision } of events)
    if (id !== null) {
      expect(revision).toBe((revisions.get(id) ?? 0) + 1);
      revisions.set(id, revision);
    }
  expect(new Map(issues.map(({ id, revision }) => [id, revision]))).toEqual(revisions);
  return issues;
}
