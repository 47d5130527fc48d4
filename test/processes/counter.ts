/**
 * Many processes add to one number in a plain file while a supervisor kills some of them and stops others past their
 * lease. Every increment that was acknowledged must be in the number, and no other but those whose process was killed
 * between the write and its acknowledgement.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Holdfast } from "../../dist/index.js";
import { expectSoundHistory } from "./history.js";
import type { Scene } from "./scene.js";

const WORKERS = 20;
const KEY = "counter";
/** Longer than a worker's lease of a second. */
const STOP_MS = 1_300;
/** A stopped process holds up all others for a while, so most victims are killed. */
const STOP_EVERY = 5;

export type Variant = "inside" | "around" | "borrowed";

export interface CounterRun {
  readonly value: number;
  readonly acks: number;
  readonly kills: number;
  readonly stops: number;
}

export async function countUnderFire(scene: Scene, variants: readonly Variant[], forMs: number): Promise<CounterRun> {
  const [file, acks, stop] = [scene.file("number"), scene.file("acks"), scene.file("stop")];
  writeFileSync(file, "0".padStart(12));
  writeFileSync(acks, "");
  const holdfast = await scene.open();
  const crowd = new Crowd((at) =>
    scene.run("counter.mjs", {
      key: KEY,
      file,
      acks,
      stop,
      owner: `agent:${at}`,
      variant: variants[at % variants.length],
    }),
  );
  while (readFileSync(acks, "utf8") === "") await sleep(20);
  const kills = await crowd.harass(holdfast, forMs);
  writeFileSync(stop, "");
  await crowd.ended();

  const acked = readFileSync(acks, "utf8").split("\n").filter(Boolean).map(Number);
  const value = Number(readFileSync(file, "utf8"));
  expect(new Set(acked).size, "two increments acknowledged the same number").toBe(acked.length);
  expect(value, "an acknowledged increment is missing").toBeGreaterThanOrEqual(acked.length);
  expect(value - acked.length, "an increment was written and refused").toBeLessThanOrEqual(kills);
  expect(crowd.failures, "a worker ended by itself").toEqual([]);
  // Whoever was killed last may still hold it.
  await (await holdfast.acquire(KEY, { wait: "1m" })).release();
  await expectSoundHistory(holdfast);
  return { value, acks: acked.length, kills, stops: crowd.stops };
}

class Crowd {
  readonly failures: (number | null)[] = [];
  stops = 0;
  readonly #spawn: (at: number) => ChildProcess;
  readonly #workers: ChildProcess[] = [];
  #kills = 0;
  #isOver = false;

  constructor(spawn: (at: number) => ChildProcess) {
    this.#spawn = spawn;
    for (let at = 0; at < WORKERS; at += 1) this.#start(at);
  }

  #start(at: number): void {
    const worker = this.#spawn(at);
    this.#workers[at] = worker;
    worker.once("exit", (code, signal) => {
      if (signal === "SIGKILL") {
        if (!this.#isOver) this.#start(at);
      } else if (code !== 0) this.failures.push(code);
    });
  }

  /** Kills and, now and then, stops: every other time whoever holds the lock, else anybody. Tells how many were killed. */
  async harass(holdfast: Holdfast, forMs: number): Promise<number> {
    const until = performance.now() + forMs;
    const stopped: Promise<void>[] = [];
    for (let turn = 0; performance.now() < until; turn += 1) {
      await sleep(100 + Math.random() * 200);
      const victim = (turn % 2 === 0 ? await this.#holder(holdfast) : undefined) ?? this.#anybody();
      if (victim === undefined) continue;
      if (turn % STOP_EVERY > 0) this.#kills += victim.kill("SIGKILL") ? 1 : 0;
      else stopped.push(this.#stopForAWhile(victim));
    }
    await Promise.all(stopped);
    return this.#kills;
  }

  async ended(): Promise<void> {
    this.#isOver = true;
    await Promise.all(
      this.#workers.map(async (worker) => {
        if (worker.exitCode === null && worker.signalCode === null) await once(worker, "exit");
      }),
    );
  }

  async #stopForAWhile(victim: ChildProcess): Promise<void> {
    if (victim.kill("SIGSTOP")) this.stops += 1;
    await sleep(STOP_MS);
    victim.kill("SIGCONT");
  }

  async #holder(holdfast: Holdfast): Promise<ChildProcess | undefined> {
    const { grants } = await holdfast.inspect(KEY);
    const pid = Number(grants[0]?.holder_id.split(":").at(-2));
    return this.#workers.find((worker) => worker.pid === pid);
  }

  #anybody(): ChildProcess | undefined {
    return this.#workers[Math.floor(Math.random() * WORKERS)];
  }
}
