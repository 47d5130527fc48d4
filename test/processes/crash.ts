/** Processes that are killed at a random moment of a tight loop, most of them inside the store's own step. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { expectSoundHistory } from "./history.js";
import type { Scene } from "./scene.js";

/** Running at one time, so that they meet. */
const AT_ONCE = 2;
/** Started ahead of their time. */
const READY = 3;
const LONGEST_LIFE_MS = 25;
const CHECK_EVERY = 25;
const KEYS = ["churn/a", "churn/a/b", "churn/c", "other/d"];
const SEATS = "churn/seats";

/** After every kill everything can be had again, and what the store tells of the past is true. */
export async function crashOften(scene: Scene, kills: number): Promise<void> {
  const holdfast = await scene.open();
  const ready = Array.from({ length: READY }, (_, at) => getReady(scene, at));
  const running: ChildProcess[] = [];
  for (let kill = 1; kill <= kills; kill += 1) {
    ready.push(getReady(scene, kill));
    const next = await ready.shift();
    if (next === undefined) break;
    next.stdin?.write("go\n");
    running.push(next);
    await sleep(Math.random() * LONGEST_LIFE_MS);
    if (running.length < AT_ONCE) continue;

    const victim = running.shift();
    expect(victim?.exitCode, "a process failed by itself").toBeNull();
    victim?.kill("SIGKILL");
    const lease = await holdfast.acquire(KEYS.toReversed(), { wait: "1m" });
    await lease.commit(() => undefined);
    await lease.release();
    if (kill % CHECK_EVERY > 0) continue;
    for (const other of running.splice(0)) other.kill("SIGKILL");
    await expectSoundHistory(holdfast, { onlyWriters: false });
  }
  for (const rest of [...running, ...(await Promise.all(ready))]) rest.kill("SIGKILL");
  await (await holdfast.acquire(KEYS, { wait: "1m" })).release();
  await holdfast.recover(SEATS);
  await expectSoundHistory(holdfast, { onlyWriters: false });
  expect(await holdfast.list()).toEqual([]);
}

async function getReady(scene: Scene, at: number): Promise<ChildProcess> {
  const child = scene.run("churn.mjs", { owner: `agent:${at}`, keys: KEYS, seats: SEATS });
  await Promise.race([once(child.stdout ?? child, "data"), once(child, "exit")]);
  return child;
}
