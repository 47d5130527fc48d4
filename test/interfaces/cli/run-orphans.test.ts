import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Holdfast } from "../../../dist/index.js";
import { isGone, killQuietly, PATIENTLY, type Run, RunScene, until } from "../../fixtures/run/run.fixture.js";

const isLinux = process.platform === "linux";
const CLOSER = `"$NODE" "${fileURLToPath(new URL("./run-closer.fixture.mjs", import.meta.url))}"`;
const UNTIL_CLOSED = "while test ! -s first; do sleep 0.1; done";
const PROFILES = { "lease:": "lease", "dal:": "dal", "strict:": "strict" } as const;

/** Starts a process that leaves the group, and says its pid: only what it inherited ties it to the run. */
const LEAVER = `setsid sh -c 'echo "$$"; exec sleep 1000' & exec sleep 1000`;

/** Killed as nothing else is: without a moment to clean up. */
async function killRunner(run: Run): Promise<void> {
  run.signal("SIGKILL");
  await run.ended;
}

async function commandOf(holdfast: Holdfast, key: string): Promise<string> {
  return (await holdfast.inspect(key)).state;
}

describe("run whose runner is killed", PATIENTLY, () => {
  // kills: run-proof-inherited (plain), run-inherited-counts (lease:k)
  for (const key of ["plain", "lease:k", "dal:k", "strict:k"])
    it(`RUN-1 STALE-1 ${key}: held, expired or not, until the last process has ended`, async () => {
      await using scene = new RunScene();
      const holdfast = await scene.open({ profiles: PROFILES, grace: "10ms" });
      const run = await scene.orphaned([key, "--ttl", "4s"], `echo "cmd $$"; ${LEAVER}`, /^\d+\n/m, /cmd \d+\n/);
      const leaver = scene.keep(Number(await run.says(/^(\d+)\n/m)));
      const command = scene.keep(Number(await run.says(/cmd (\d+)/)));
      expect(await holdfast.tryAcquire(key)).toBeNull();
      await until("expired", async () => (await commandOf(holdfast, key)) === "expired");
      expect(await holdfast.tryAcquire(key)).toBeNull();
      expect(await holdfast.recover(key)).toEqual([]);
      killQuietly(command);
      await until("the command has ended", () => isGone(command));
      expect(await holdfast.tryAcquire(key)).toBeNull();
      killQuietly(leaver);
      await until("others get in", async () => (await holdfast.tryAcquire(key)) !== null);
      expect(isGone(leaver)).toBe(true);
    });

  it("RUN-1 STALE-2 a waiter gets in when the last process has ended, long before the lease is over", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const run = scene.run(["k", "--ttl", "1h"], `echo "$$"; exec sleep 1000`);
    const command = scene.keep(Number(await run.says(/^(\d+)\n/)));
    await killRunner(run);
    const next = scene.run(["k", "--wait", "10m"], "echo in");
    await until("it waits", async () => (await holdfast.inspect("k")).waiters.length === 1);
    killQuietly(command);
    expect(await next.ended).toBe(0);
    const [stolen] = await holdfast.audit.list({ event: "stolen" });
    expect(stolen?.details).toMatchObject({ reason: "process_dead", evidence: { life: "dead" } });
  });

  it("RUN-1 a program for Node in between hands the proof on", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const inner = `require("child_process").spawn("sleep", ["1000"], { stdio: "inherit" }).on("spawn", function () { console.log(this.pid); process.exit(0) })`;
    const run = scene.holdfast(["run", "k", "--linger", "--", process.execPath, "-e", inner]);
    const pid = scene.keep(Number(await run.says(/^(\d+)\n/)));
    await killRunner(run);
    expect(await holdfast.tryAcquire("k")).toBeNull();
    killQuietly(pid);
    await until("others get in", async () => (await holdfast.tryAcquire("k")) !== null);
  });

  // kills: run-command-mark
  it.runIf(isLinux)(
    "RUN-1 processes of the group that closed what they inherited keep the lock, too (needs Linux)",
    async () => {
      await using scene = new RunScene();
      const holdfast = await scene.open();
      const run = scene.run(["k"], `${CLOSER} first & ${UNTIL_CLOSED}; echo "$$"; exec ${CLOSER} second`);
      const command = scene.keep(Number(await run.says(/^(\d+)\n/)));
      const child = scene.keep(Number(scene.read("first")));
      await until("the command has closed it, too", () => Number(scene.read("second")) === command);
      await killRunner(run);
      expect(await holdfast.tryAcquire("k")).toBeNull();
      killQuietly(command);
      await until("the command has ended", () => isGone(command));
      expect(await holdfast.tryAcquire("k")).toBeNull();
      killQuietly(child);
      await until("others get in", async () => (await holdfast.tryAcquire("k")) !== null);
      expect(isGone(child)).toBe(true);
    },
  );

  it("RUN-1 the same in a file store", async () => {
    await using scene = new RunScene("file");
    const holdfast = await scene.open();
    const run = scene.run(["k"], `echo "$$"; exec sleep 1000`);
    const command = scene.keep(Number(await run.says(/^(\d+)\n/)));
    await killRunner(run);
    expect(await holdfast.tryAcquire("k")).toBeNull();
    killQuietly(command);
    await until("others get in", async () => (await holdfast.tryAcquire("k")) !== null);
  });
});
