import { describe, expect, it } from "vitest";
import { isGone, PATIENTLY, RunScene, until } from "../../fixtures/run/run.fixture.js";

const INNER = '"$NODE" "$MAIN" run --wait 0';
const SHOW = `sh -c 'echo "$HOLDFAST_RESOURCE|$HOLDFAST_FENCING_TOKEN|$HOLDFAST_LEASE_TOKEN"'`;

describe("run inside run", PATIENTLY, () => {
  // kills: run-inner-token
  it("RUN-1 LOCK-10 nests on what the outer run covers, with its fencing token, and sees its own lease token", async () => {
    await using scene = new RunScene();
    const run = scene.run(["k"], `${SHOW}; ${INNER} k/below -- ${SHOW}; ${INNER} k -- ${SHOW}; ${SHOW}`);
    expect(await run.finished).toBe(0);
    const lines = run.out
      .trim()
      .split("\n")
      .map((line) => line.split("|"));
    const [outer = [], below = [], same = [], again = []] = lines;
    expect(lines.map(([resource]) => resource)).toEqual(["k", "k/below", "k", "k"]);
    expect(new Set(lines.map(([, fence]) => fence)).size).toBe(1);
    expect(again).toEqual(outer);
    expect(new Set([outer[2], below[2], same[2]]).size).toBe(3);
  });

  it("RUN-1 LOCK-13 the innermost of three presents what the outermost holds", async () => {
    await using scene = new RunScene();
    const run = scene.run(["a"], `${INNER} b -- ${INNER} a/x b/x c -- ${SHOW}`);
    expect(await run.finished).toBe(0);
    expect(run.out).toMatch(/^a\/x b\/x c\|/);
  });

  it("RUN-1 LOCK-11 would rather refuse than wait for what could wait for it", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    await using _held = await holdfast.acquire("a", { ttl: "1h" });
    const run = scene.run(["b"], '"$NODE" "$MAIN" run --wait 10m a -- true');
    expect(await run.finished).toBe(85);
  });

  it("LOCK-10 a token that holds nothing any more gives no rights", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const old = await holdfast.acquire("k");
    await old.release();
    await using _held = await holdfast.acquire("k", { ttl: "1h" });
    const env = { HOLDFAST_RESOURCE: "k", HOLDFAST_LEASE_TOKEN: old.token };
    const run = scene.run(["--wait", "0", "k"], "echo in", { env });
    expect([await run.finished, run.out]).toEqual([75, ""]);
    const free = scene.run(["--wait", "0", "other"], "echo in", {
      env: { ...env, HOLDFAST_OUTER: "rubbish; ;x y/ z" },
    });
    expect([await free.finished, free.out]).toEqual([0, "in\n"]);
  });

  // kills: run-stale-token
  it("LOCK-10 nor does a token whose lease has run out, although nobody could end its grant", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const wait = "while test ! -e go; do sleep 0.1; done";
    const script = `echo "$$"; ${wait}; ${INNER} k -- touch in; echo "code $?"`;
    const run = await scene.orphaned(["k", "--ttl", "4s"], script, /^(\d+)\n/);
    scene.keep(Number(await run.says(/^(\d+)\n/)));
    await until("expired", async () => (await holdfast.inspect("k")).state === "expired");
    scene.write("go");
    expect(await run.says(/code (\d+)\n/)).toBe("75");
    expect(scene.has("in")).toBe(false);
  });

  it("LOCK-12 a token that holds nothing any more does not get past the line", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const old = await holdfast.acquire("gone");
    await old.release();
    const reader = await holdfast.acquire("k", { mode: "read", ttl: "1h" });
    const writer = holdfast.acquire("k", { wait: "10m" });
    while ((await holdfast.inspect("k")).waiters.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const env = { HOLDFAST_RESOURCE: "gone", HOLDFAST_LEASE_TOKEN: old.token };
    const outcomes: unknown[] = [];
    // A waiter that sleeps for seconds has lost its place for that long: then somebody rightly gets in, but not every time.
    while (outcomes.length < 5 && !outcomes.includes(75)) {
      const run = scene.run(["--wait", "0", "--mode", "read", "k"], "echo in", { env });
      outcomes.push(await run.finished);
      expect(run.out).toBe(outcomes.at(-1) === 75 ? "" : "in\n");
    }
    expect(outcomes).toContain(75);
    await reader.release();
    await (await writer).release();
  });

  it("RUN-1 the outer run ends the inner one and its command", async () => {
    await using scene = new RunScene();
    const admin = await scene.open({ owner: "admin:test" });
    const run = scene.run(
      ["k", "--ttl", "12s"],
      `${INNER} j -- sh -c 'trap "" TERM; echo "$$"; while :; do sleep 1; done'`,
    );
    const pid = scene.keep(Number(await run.says(/^(\d+)\n/)));
    await admin.break("k", { reason: "test" });
    expect(await run.ended).toBe(81);
    expect(isGone(pid)).toBe(true);
    await using _j = await admin.acquire("j", { wait: "30s" });
  });
});
