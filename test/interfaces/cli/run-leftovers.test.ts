import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isGone, PATIENTLY, RunScene, until } from "../../fixtures/run/run.fixture.js";

const CLOSER = `"$NODE" "${fileURLToPath(new URL("./run-closer.fixture.mjs", import.meta.url))}" closed`;
const UNTIL_CLOSED = "while test ! -s closed; do sleep 0.1; done";
const isLinux = process.platform === "linux";

describe("run and what its command leaves behind", PATIENTLY, () => {
  // kills: run-leftovers
  it("RUN-1 ends what the command left in its group, before the lock is free", async () => {
    await using scene = new RunScene();
    const run = scene.run(["k"], 'sleep 1000 & echo "$!"; exit 3');
    const pid = scene.keep(Number(await run.says(/^(\d+)\n/)));
    expect(await run.ended).toBe(3);
    expect(isGone(pid)).toBe(true);
  });

  it("RUN-1 kills what does not end when asked to", async () => {
    await using scene = new RunScene();
    const run = scene.run(
      ["k"],
      `sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & while :; do sleep 1; done`,
    );
    const pid = scene.keep(Number(await run.says(/^(\d+)\n/)));
    run.signal("SIGTERM");
    expect(await run.ended).toBe(143);
    expect(isGone(pid)).toBe(true);
  });

  it("RUN-1 ends what is stopped, too", async () => {
    await using scene = new RunScene();
    const run = scene.run(["k"], `sleep 1000 & kill -STOP $!; echo "$!"`);
    const pid = scene.keep(Number(await run.says(/^(\d+)\n/)));
    expect(await run.ended).toBe(0);
    expect(isGone(pid)).toBe(true);
  });

  it.runIf(isLinux)("RUN-1 ends what left the group but kept what it inherited (needs Linux)", async () => {
    await using scene = new RunScene();
    const run = scene.run(
      ["k"],
      `setsid sh -c 'echo $$; exec sleep 1000' & while :; do sleep 0.1; test -e go && exit; done`,
    );
    const pid = scene.keep(Number(await run.says(/^(\d+)\n/)));
    scene.write("go");
    expect(await run.ended).toBe(0);
    expect(isGone(pid)).toBe(true);
  });

  it("RUN-1 ends what closed what it inherited but stayed in the group", async () => {
    await using scene = new RunScene();
    const run = scene.run(["k"], `${CLOSER} & ${UNTIL_CLOSED}; exit 5`);
    expect(await run.ended).toBe(5);
    expect(isGone(scene.keep(Number(scene.read("closed"))))).toBe(true);
  });

  it("RUN-1 lets go what left the group and closed what it inherited", async () => {
    await using scene = new RunScene();
    const run = scene.run(["k"], `setsid ${CLOSER} & ${UNTIL_CLOSED}; exit 5`);
    expect(await run.ended).toBe(5);
    expect(isGone(scene.keep(Number(scene.read("closed"))))).toBe(false);
    expect(await (await scene.open()).tryAcquire("k")).not.toBeNull();
  });

  it("RUN-1 --linger waits for it instead, and holds the lock", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const run = scene.run(
      ["k", "--linger"],
      `(while test ! -e go; do sleep 0.1; done; echo later) & echo "$!"; exit 4`,
    );
    await run.says(/\d+\n/);
    expect(await holdfast.tryAcquire("k")).toBeNull();
    scene.write("go");
    expect(await run.finished).toBe(4);
    expect(run.out).toMatch(/later\n$/);
    expect(await holdfast.tryAcquire("k")).not.toBeNull();
  });

  it("RUN-1 LOCK-6 --linger does not outlast the lease", async () => {
    await using scene = new RunScene();
    const admin = await scene.open({ owner: "admin:test" });
    const run = scene.run(["k", "--linger", "--ttl", "12s"], `sleep 1000 & echo "$!"`);
    const pid = scene.keep(Number(await run.says(/(\d+)\n/)));
    await admin.break("k", { reason: "test" });
    expect(await run.ended).toBe(81);
    expect(isGone(pid)).toBe(true);
    await until("free", async () => (await admin.inspect("k")).state === "free");
  });
});
