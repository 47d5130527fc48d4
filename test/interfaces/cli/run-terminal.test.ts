import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isGone, PATIENTLY, RunScene, until } from "../../fixtures/run/run.fixture.js";
import { CTRL_BACKSLASH, CTRL_C, CTRL_Z, HAS_TERMINALS, PROMPT, Terminal } from "./terminal.fixture.js";

const LISTENER = fileURLToPath(new URL("./run-listener.fixture.mjs", import.meta.url));
const RUN = '"$NODE" "$MAIN" run';

describe.runIf(HAS_TERMINALS)("run in a terminal (needs bash and script)", PATIENTLY, () => {
  it("RUN-1 the command is in the foreground, talks to the terminal, stops at Ctrl-Z and goes on with fg", async () => {
    await using scene = new RunScene();
    await using terminal = new Terminal(scene.env(), scene.dir);
    const show = "ps -o pgid=,tpgid= -p $$ >/dev/tty; echo up to you; cat";
    const groups = await terminal.type(`${RUN} k --ttl 1h -- bash -c '${show}'\n`, /(\d+ +\d+)\s+up to you\r\n/);
    const [own, foreground] = groups.split(/ +/);
    expect(own).toBe(foreground);
    await terminal.type("hello\n", /hello\r\nhello\r\n/);
    await terminal.command(CTRL_Z, /Stopped/);
    await terminal.command("echo code=$?.\n", /code=148\./);
    expect((await (await scene.open()).inspect("k")).state).toBe("held");
    await terminal.type("fg\n", /bash -c.*\r\n/);
    await terminal.type("again\n", /again\r\nagain\r\n/);
    await terminal.command(CTRL_C, /\^C/);
    await terminal.command("echo code=$?.\n", /code=130\./);
    expect((await (await scene.open()).inspect("k")).state).toBe("free");
  });

  it("RUN-1 the keys reach the command once, and other signals too", async () => {
    await using scene = new RunScene();
    await using terminal = new Terminal(scene.env(), scene.dir);
    await terminal.type(`${RUN} k --ttl 1h -- "$NODE" ${LISTENER} heard\n`, /ready \d+/);
    await terminal.type(CTRL_C, /SIGINT/);
    await terminal.type(CTRL_BACKSLASH, /SIGQUIT/);
    await terminal.command(CTRL_Z, /Stopped/);
    await terminal.command("bg\n", /&\r\n/);
    await terminal.type("kill -USR1 $(jobs -p)\n", /SIGUSR1/);
    await terminal.type("kill -INT $(jobs -p)\n", /SIGINT/);
    // In one line: between two of them the shell may see its end, tell of it, and know the job no more.
    await terminal.type("kill -TERM $(jobs -p); wait %1; echo code=$?.\n", /SIGTERM[\s\S]*code=9\./);
    expect(scene.read("heard")).toBe("SIGINT\nSIGQUIT\nSIGUSR1\nSIGINT\nSIGTERM\n");
  });

  it("RUN-1 ends what the command left behind, and nobody else in the pipeline", async () => {
    await using scene = new RunScene();
    await using terminal = new Terminal(scene.env(), scene.dir);
    const leave = `sleep 1000 & echo "left $!."`;
    const pid = await terminal.type(
      `${RUN} k -- sh -c '${leave}' | (cat; sleep 1; echo peer is well)\n`,
      /left (\d+)\./,
    );
    scene.keep(Number(pid));
    await terminal.sees(/peer is well\r\n/);
    await until("ended", () => isGone(Number(pid)));
    expect((await (await scene.open()).inspect("k")).state).toBe("free");
  });

  it("RUN-1 LOCK-6 a lost lease ends everything there, too", async () => {
    await using scene = new RunScene();
    await using terminal = new Terminal(scene.env(), scene.dir);
    const admin = await scene.open({ owner: "admin:test" });
    const script = `trap "" TERM; sh -c "trap \\"\\" TERM; while :; do sleep 1; done" & echo "child $!."; while :; do sleep 1; done`;
    const child = Number(await terminal.type(`${RUN} k --ttl 12s -- sh -c '${script}'\n`, /child (\d+)\.\r/));
    scene.keep(child);
    await admin.break("k", { reason: "test" });
    await terminal.sees(/lease was lost/);
    await terminal.sees(PROMPT);
    await terminal.command("echo code=$?.\n", /code=81\./);
    expect(isGone(child)).toBe(true);
  });

  it("RUN-1 a terminal that goes away takes the command with it", async () => {
    await using scene = new RunScene();
    const holdfast = await scene.open();
    const terminal = new Terminal(scene.env(), scene.dir);
    const pid = Number(await terminal.type(`${RUN} k --ttl 1h -- sh -c 'echo "$$."; exec sleep 1000'\n`, /(\d+)\.\r/));
    scene.keep(pid);
    await terminal[Symbol.asyncDispose]();
    await until("ended", () => isGone(pid));
    await until("free", async () => (await holdfast.tryAcquire("k")) !== null);
  });
});
