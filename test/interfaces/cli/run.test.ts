import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { killQuietly, PATIENTLY, RunScene, stateOf, until } from "../../fixtures/run/run.fixture.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const LISTENER = fileURLToPath(new URL("./run-listener.fixture.mjs", import.meta.url));

describe("run", PATIENTLY, () => {
  it("RUN-1 passes arguments, input, output and the exit code through, and says nothing of its own", async () => {
    await using scene = new RunScene();
    const script = 'printf "%s|" "$0" "$@"; cat; echo oops >&2; exit 7';
    const run = scene.holdfast(["run", "job", "--", "sh", "-c", script, "a b", "--json", "*"], { stdin: "pipe" });
    run.child.stdin?.end("from outside");
    expect(await run.finished).toBe(7);
    expect(run.out).toBe("a b|--json|*|from outside");
    expect(run.err).toBe("oops\n");
    expect((await (await scene.open()).inspect("job")).state).toBe("free");
  });

  it("RUN-1 gives the command keys and tokens in the order asked for, which hold while it runs", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const run = scene.run(
      ["--meta", "task=maps", "--owner", "agent:7", "--mode", "write", "b", "a/x"],
      'echo "$HOLDFAST_RESOURCE;$HOLDFAST_FENCING_TOKEN;$HOLDFAST_LEASE_TOKEN"; read line',
      { stdin: "pipe" },
    );
    const [keys = "", fences = "", token = ""] = (await run.says(/^(.*)\n/)).split(";");
    expect(keys).toBe("b a/x");
    const [b, a] = fences.split(" ").map(Number);
    const { grants } = await holdfast.inspect("b");
    expect(grants).toMatchObject([{ owner: "agent:7", fencing_token: b, metadata: { task: "maps" } }]);
    expect((await holdfast.inspect("a/x")).grants).toMatchObject([{ fencing_token: a }]);
    const borrowed = await holdfast.borrow(["b", "a/x"], token);
    expect(await borrowed.commit(() => "written")).toBe("written");
    expect(await holdfast.tryAcquire("a")).toBeNull();
    run.child.stdin?.end("\n");
    expect(await run.ended).toBe(0);
    expect((await holdfast.inspect("b")).state).toBe("free");
  });

  it("RUN-1 LOCK-11 takes all keys or none", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    await using _held = await holdfast.acquire("b", { ttl: "1h" });
    const run = scene.run(["--wait", "0", "a", "b", "--report", "report.json"], "echo ran");
    expect(await run.finished).toBe(75);
    expect(run.out).toBe("");
    expect(scene.json("report.json")).toMatchObject({ ok: false, command: "run", error: { code: "E_LOCK_CONFLICT" } });
    expect((await holdfast.inspect("a")).state).toBe("free");
    const polite = scene.run(["--wait", "10ms", "b", "--conflict-exit-code", "3"], "echo ran");
    expect([await polite.finished, polite.out]).toEqual([3, ""]);
    expect(polite.err).toContain("b");
  });

  it("CLI-4 exits as a shell would: 128 and the signal, 127 not found, 126 not executable, 64 for usage", async () => {
    await using scene = new RunScene();
    const runs = [
      scene.run(["k1"], "kill -KILL $$"),
      scene.run(["k2"], "kill -TERM $$"),
      scene.holdfast(["run", "k3", "--", "there-is-no-such-command"]),
      scene.holdfast(["run", "k4", "--", scene.dir]),
      scene.holdfast(["run", "k5"]),
      scene.holdfast(["run", "--conflict-exit-code", "256", "k6", "--", "true"]),
      scene.holdfast(["run", "not a key", "--", "true"]),
    ];
    expect(await Promise.all(runs.map((run) => run.ended))).toEqual([137, 143, 127, 126, 64, 64, 64]);
    const holdfast = await scene.open();
    for (const key of ["k3", "k4"]) expect((await holdfast.inspect(key)).state).toBe("free");
  });

  it("CLI-4 what is nowhere is not found, also when a folder of PATH may not be looked into", async ({ skip }) => {
    await using scene = new RunScene();
    const locked = scene.path("locked");
    mkdirSync(locked, { mode: 0o000 });
    chmodSync(scene.dir, 0o777);
    const asUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const holdfast = (...words: string[]) =>
      spawnSync(process.execPath, [MAIN, "--store", `file:${scene.path("store")}`, ...words], {
        ...asUser,
        cwd: "/",
        env: { PATH: `${locked}:${process.env.PATH}` },
      }).status;
    // A clone in a folder of root's own is out of reach for others.
    if (holdfast("--version") !== 0) skip("needs a clone that other users can read");
    expect(holdfast("run", "k", "--", "there-is-no-such-command")).toBe(127);
    expect(holdfast("run", "k", "--", "true")).toBe(0);
  });

  it("RUN-1 CLI-2 --report has grants and exit code when it is over, and no secret", async () => {
    await using scene = new RunScene();
    const run = scene.run(["k", "--report", "r.json"], "test ! -e r.json && kill -TERM $$");
    expect(await run.ended).toBe(143);
    expect(scene.json("r.json")).toMatchObject({
      ok: true,
      command: "run",
      data: { grants: [{ resource: "k", mode: "write" }], exit_code: 143, command_signal: "SIGTERM" },
    });
    expect(scene.read("r.json")).not.toContain("hf_");
    const nowhere = scene.run(["k", "--report", "no/such/folder/r.json"], "touch ran");
    expect(await nowhere.ended).toBe(74);
    expect(scene.has("ran")).toBe(false);
    const late = scene.run(["k", "--report", "late"], "mkdir late; exit 3");
    expect(await late.ended, "what the command returned, with or without a report").toBe(3);
    expect(late.err).toContain("the report was not written");
  });

  it("RUN-1 passes signals through, each once", async () => {
    await using scene = new RunScene();
    const run = scene.holdfast(["run", "k", "--", process.execPath, LISTENER]);
    scene.keep(Number(await run.says(/ready (\d+)\n/)));
    for (const signal of ["SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTERM"] as const) {
      run.signal(signal);
      await run.says(new RegExp(signal));
    }
    expect(await run.finished).toBe(9);
    expect(run.out.trim().split("\n").slice(1)).toEqual([
      "SIGINT",
      "SIGHUP",
      "SIGQUIT",
      "SIGUSR1",
      "SIGUSR2",
      "SIGWINCH",
      "SIGTERM",
    ]);
  });

  it("RUN-1 stops and continues the command, and keeps the lease meanwhile", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const run = scene.holdfast(["run", "k", "--ttl", "15s", "--", process.execPath, LISTENER]);
    const pid = scene.keep(Number(await run.says(/ready (\d+)\n/)));
    run.signal("SIGTSTP");
    await until("the command stands still", () => stateOf(pid) === "T");
    const before = (await holdfast.inspect("k")).grants[0]?.last_renewed_at ?? "";
    await until("the lease is renewed", async () => {
      const { grants } = await holdfast.inspect("k");
      return (grants[0]?.last_renewed_at ?? "") > before;
    });
    expect(stateOf(pid)).toBe("T");
    run.signal("SIGCONT");
    await until("it goes on", () => stateOf(pid) !== "T");
    run.signal("SIGTERM");
    expect(await run.ended).toBe(9);
  });

  it("RUN-1 LOCK-12 a signal while it waits ends the wait, and leaves nothing in line", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    await using _held = await holdfast.acquire("k", { ttl: "1h" });
    const run = scene.run(["--wait", "10m", "k"], "touch ran");
    await until("it waits", async () => (await holdfast.inspect("k")).waiters.length === 1);
    run.signal("SIGTERM");
    expect(await run.ended).toBe(143);
    expect((await holdfast.inspect("k")).waiters).toEqual([]);
    expect(scene.has("ran")).toBe(false);
  });

  it("RUN-1 works where few files may be open", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const run = scene.shell(`ulimit -n 90; exec "$NODE" "$MAIN" run k -- sh -c 'echo "$$"; exec sleep 1000'`);
    const pid = scene.keep(Number(await run.says(/^(\d+)\n/)));
    run.signal("SIGKILL");
    await run.ended;
    expect(await holdfast.tryAcquire("k")).toBeNull();
    killQuietly(pid);
    await until("others get in", async () => (await holdfast.tryAcquire("k")) !== null);
  });

  it("RUN-1 works without any standard input", async () => {
    await using scene = new RunScene();
    const run = scene.shell(`exec 0<&-; exec "$NODE" "$MAIN" run k -- sh -c 'cat; echo here'`);
    expect([await run.finished, run.out]).toEqual([0, "here\n"]);
  });
});
