/** Publishing up to a chosen operation, of files or of the database, in this process, and what must be true afterwards. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { publish } from "../../src/publish/index.js";
import { collectGarbage } from "../collect-garbage.js";
import { type FaultKind, faults } from "../fixtures/fault-injection.mjs";
import {
  closeDatabases,
  expectSettled,
  KEY,
  removeScene,
  type Scene,
  type StoreKind,
  sceneAt,
  treeOf,
} from "./world.js";

export interface Course {
  readonly kind: StoreKind;
  /** Whether there is something to replace. */
  readonly replaces: boolean;
  /** Whether this process has published there before and need not ask again whether it is one device. */
  readonly isProven: boolean;
}

const KINDS = ["sqlite", "file", "postgres"] as const;

export const COURSES: readonly (Course & { readonly name: string })[] = KINDS.flatMap((kind) =>
  [
    { kind, replaces: true, isProven: false, name: `${kind}, replacing` },
    { kind, replaces: true, isProven: true, name: `${kind}, replacing again` },
    { kind, replaces: false, isProven: false, name: `${kind}, a new target` },
  ].filter(({ isProven }) => kind === "sqlite" || !isProven),
);

/** Scenes between two collections of garbage. */
const COLLECT_EVERY = 100;
let scenes = 0;
/** Leases are a day long here. */
const SHORTEST_ALARM_MS = 3_600_000;

/** The last publish counts as the last one all the same. */
const CLOCK_SET_BACK_MS = 60_000;

type Prepared = Omit<Course, "isProven"> & Partial<Course>;

/** A scene with the old tree in place, published by a clock that was set back since, or none. */
export async function prepare(base: string, { kind, replaces, isProven = false }: Prepared): Promise<Scene> {
  scenes += 1;
  if (scenes % COLLECT_EVERY === 0) await collectGarbage();
  const scene = await sceneAt(join(base, `scene-${scenes}`), kind);
  faults.skipSyncs();
  faults.watch(scene.dir);
  if (replaces) {
    const client = await scene.open();
    await publish({ holdfast: client, key: KEY }, scene.target, treeOf("old"));
    await client.close();
    await scene.setClockBack(CLOCK_SET_BACK_MS);
    if (!isProven) rmSync(join(scene.target, "..", "tmp"), { recursive: true });
  }
  return scene;
}

interface Point {
  readonly at: number;
  readonly what: FaultKind;
  readonly when?: "before" | "after";
}

/** A client comes, takes the lock and publishes, until it is stopped: then everything of it is dead. */
async function publishUntil(scene: Scene, version: string, point: Point) {
  const mark = faults.mark();
  const alarms = catchAlarms();
  faults.arm(point);
  let told: string | null = null;
  try {
    const client = await scene.open("agent:doomed");
    const lease = await client.acquire(KEY, { ttl: "24h" });
    await publish(lease, scene.target, treeOf(version));
    if (!faults.stopped) told = version;
  } catch (error) {
    if (!faults.stopped) throw error;
  }
  const { seen } = faults.disarm();
  faults.bury(mark);
  alarms.clear();
  closeDatabases();
  await scene.mourn();
  return { told, seen };
}

/**
 * A dead process has no timers. The one that waits for the end of its lease would keep all that the lease leads to, and with
 * it a connection whose files stay open until it is collected.
 */
function catchAlarms(): { clear(): void } {
  const { setTimeout } = globalThis;
  const alarms: NodeJS.Timeout[] = [];
  const catching = (run: () => void, ms?: number): NodeJS.Timeout => {
    const timer = setTimeout(run, ms);
    if ((ms ?? 0) > SHORTEST_ALARM_MS) alarms.push(timer);
    return timer;
  };
  globalThis.setTimeout = Object.assign(catching, setTimeout);
  return {
    clear() {
      globalThis.setTimeout = setTimeout;
      for (const timer of alarms) clearTimeout(timer);
    },
  };
}

/** Stops a publish at each n-th operation; returns how many points there were. */
export async function sweep(base: string, course: Course, every: number, first = 1): Promise<number> {
  const seen = await operationsOf(base, course);
  const old = course.replaces ? "old" : null;
  let count = 0;
  for (let at = first; at <= seen.length; at += every) {
    for (const when of ["before", "after"] as const)
      await named(`${when} ${at} of ${seen.length}, ${seen[at - 1]}`, async () => {
        const scene = await prepare(base, course);
        const { told } = await publishUntil(scene, "new", { at, what: "stop", when });
        await expectSettled(scene, told === null ? [old, "new"] : ["new"]);
        removeScene(scene);
      });
    count += 2;
  }
  return count;
}

/** Stops a publish, and then whoever comes next at each of its own operations. */
export async function sweepTwice(base: string, course: Course, every: number, everySecond: number): Promise<number> {
  const seen = await operationsOf(base, course);
  const old = course.replaces ? "old" : null;
  let count = 0;
  for (let at = 1; at <= seen.length; at += every)
    for (let second = 1; ; second += everySecond) {
      let isOver = false;
      await named(`${at} of ${seen.length}, ${seen[at - 1]}, then ${second}`, async () => {
        const scene = await prepare(base, course);
        const one = await publishUntil(scene, "new", { at, what: "stop" });
        const two = await publishUntil(scene, "newer", { at: second, what: "stop" });
        isOver = two.told !== null;
        const possible = two.told === null ? [one.told ?? old, "new", "newer"] : ["newer"];
        await expectSettled(scene, possible);
        removeScene(scene);
      });
      if (isOver) break;
      count += 1;
    }
  return count;
}

/** What an undisturbed publish does. */
export async function operationsOf(base: string, course: Course): Promise<readonly string[]> {
  const scene = await prepare(base, course);
  const { seen } = await publishUntil(scene, "new", { at: 0, what: "none" });
  removeScene(scene);
  return seen;
}

export async function named(where: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
  }
}
