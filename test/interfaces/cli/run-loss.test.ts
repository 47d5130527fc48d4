import { describe, expect, it } from "vitest";
import { runCommand } from "../../../dist/features/runtime/run-command.js";
import { storeAlone } from "../../../src/client/workspace/find-workspace.js";
import { isGone, PATIENTLY, RunScene, tellsOfNobody, until } from "../../fixtures/run/run.fixture.js";

/** Goes on for ever, and would rather return 0 than be told to end. */
const STUBBORN = `sh -c 'trap "" TERM; echo "child $$"; while :; do sleep 1; done' & trap "exit 0" TERM; echo "cmd $$"; while :; do sleep 0.1; done`;

describe("run whose lease is lost", PATIENTLY, () => {
  // kills: run-group-ends
  it("RUN-1 LOCK-6 ends the whole group, also what ignores SIGTERM, and exits with 81 whatever the command says", async () => {
    await using scene = new RunScene();
    const admin = await scene.open({ owner: "admin:test" });
    const run = scene.run(["k", "--ttl", "12s", "--report", "r.json"], STUBBORN);
    const child = scene.keep(Number(await run.says(/child (\d+)/)));
    const command = scene.keep(Number(await run.says(/cmd (\d+)/)));
    await admin.break("k", { reason: "test" });
    expect(await run.ended).toBe(81);
    expect([isGone(child), isGone(command)]).toEqual([true, true]);
    await run.finished;
    expect(run.err).toContain("lost");
    expect(scene.json("r.json")).toMatchObject({
      ok: false,
      error: { code: "E_LOCK_NOT_HELD", details: { exit_code: 81 } },
    });
  });

  // kills: run-looked-at
  it("RUN-1 ends what has inherited its proof, not what only looks at it", async () => {
    await using scene = new RunScene();
    const admin = await scene.open({ owner: "admin:test" });
    const run = scene.run(["k", "--ttl", "12s"], STUBBORN);
    const child = scene.keep(Number(await run.says(/child (\d+)/)));
    const looker = scene.shell('for f in store/alive/*; do exec 3< "$f"; done; echo "looks $$"; exec sleep 60');
    const looking = scene.keep(Number(await looker.says(/looks (\d+)/)));
    await admin.break("k", { reason: "test" });
    expect(await run.ended).toBe(81);
    expect([isGone(child), isGone(looking)]).toEqual([true, false]);
  });

  for (const ttl of ["1s", "4s"])
    it(`RUN-1 LOCK-6 a runner that slept through its lease of ${ttl}: nobody gets in before the group has ended`, async () => {
      await using scene = new RunScene();
      const holdfast = await scene.open();
      const run = await scene.begun(["k", "--ttl", ttl], STUBBORN, /child \d+\n/, /cmd \d+\n/);
      const child = scene.keep(Number(await run.says(/child (\d+)/)));
      const command = scene.keep(Number(await run.says(/cmd (\d+)/)));
      await run.stop(); // On a machine that is busy enough, the shorter lease may have been lost before.
      await until("not held", async () => (await holdfast.inspect("k")).state !== "held");
      const next = scene.run(
        ["k", "--wait", "10m"],
        `kill -0 ${child} 2>/dev/null && cat /proc/${child}/stat; kill -0 ${command} 2>/dev/null && cat /proc/${command}/stat; echo in`,
      );
      await until("it waits", async () => isGone(child) || (await holdfast.inspect("k")).waiters.length === 1);
      run.signal("SIGCONT");
      expect(await run.ended).toBe(80);
      expect([isGone(child), isGone(command)]).toEqual([true, true]);
      expect(await next.finished).toBe(0);
      expect(next.out.split("\n").filter((line) => line === "in" || !tellsOfNobody(line))).toEqual(["in"]);
    });

  // kills: run-loss-decides
  it("RUN-1 a command that ends well after its lease was lost has not ended well", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const script = "echo here; while test ! -e go; do sleep 0.05; done";
    for (let state = "held"; state !== "expired"; ) {
      const run = await scene.begun(["k", "--ttl", "4s"], script, /here/);
      await run.stop();
      await until("not held", async () => {
        state = (await holdfast.inspect("k")).state;
        return state !== "held";
      });
      if (state === "expired") scene.write("go"); // Else it was lost before, and the command was ended.
      run.signal("SIGCONT");
      expect(await run.ended).toBe(80);
    }
    expect((await holdfast.inspect("k")).state).toBe("free");
  });

  it("RUN-1 LOCK-6 a command is not started once its lease is lost", async () => {
    await using scene = new RunScene();
    const admin = await scene.open({ owner: "admin:test" });
    const started = scene.path("started");
    let isLost = false;
    const running = runCommand({
      workspace: storeAlone(scene.url, "agent:run"),
      keys: ["k"],
      acquire: { ttl: "10m" },
      program: "touch",
      args: [started],
      env: scene.env(),
      linger: false,
      async around(lease, command) {
        await admin.break("k", { reason: "test" });
        await lease.verify().catch(() => undefined);
        isLost = lease.state === "lost";
        await command(scene.dir);
      },
    });
    await expect(running).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    expect([isLost, scene.has("started")]).toEqual([true, false]);
  });
});
