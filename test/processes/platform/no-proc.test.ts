/** Systems without /proc: what another program tells of processes, or nothing. (needs Linux, whose `ps` stands for theirs) */
import { execFileSync, spawn } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { openScene, Scene } from "../../fixtures/command.fixture.js";

const PRELOAD = new URL("../../fixtures/platform/no-proc.fixture.mjs", import.meta.url).href;
const MACHINE = new URL("../../../dist/platform/machine.js", import.meta.url).href;
const ANCESTORS = new URL("../../../dist/platform/process/ancestors.js", import.meta.url).href;
const ZONES = [
  { TZ: "UTC", LC_ALL: "C" },
  { TZ: "Asia/Tokyo", LC_ALL: "de_DE.UTF-8" },
  { TZ: "America/St_Johns", PATH: "/nonexistent" },
];

function tell(expression: string, env: NodeJS.ProcessEnv): unknown {
  const program = `
    const machine = await import(${JSON.stringify(MACHINE)});
    const ancestors = await import(${JSON.stringify(ANCESTORS)});
    console.log(JSON.stringify(${expression}));`;
  const words = ["--import", PRELOAD, "--input-type=module", "-e", program];
  return JSON.parse(
    execFileSync(process.execPath, words, { encoding: "utf8", env: { PATH: process.env.PATH, ...env } }),
  );
}

function startSleeper(): number {
  const sleeper = spawn("sleep", ["1000"]);
  onTestFinished(() => void sleeper.kill());
  return sleeper.pid ?? 0;
}

describe.runIf(process.platform === "linux")("without /proc (needs Linux)", () => {
  // kills: tool-in-utc
  it("a start time is the same in every time zone and language, and without a PATH", () => {
    const pid = startSleeper();
    const told = ZONES.map((env) => Number(tell(`machine.startTimeOf(${pid})`, env)));
    const now = Date.now() / 1000;
    for (const seconds of told) expect(Math.abs(seconds - now)).toBeLessThan(30);
    const above = ZONES.map((env) => tell(`ancestors.chainFrom(${pid}).at(0)?.startTime`, env));
    expect(Math.max(...[...told, ...above.map(Number)]) - Math.min(...told)).toBeLessThanOrEqual(1);
  });

  it("a process that is there is alive, gone or another one by what ps tells, and unknown without ps", () => {
    const pid = startSleeper();
    const life = (of: string, env: NodeJS.ProcessEnv = {}) =>
      tell(`machine.lifeOfProcess({ pidNamespace: "", ${of} })`, env);
    const startTime = JSON.stringify(tell(`machine.startTimeOf(${pid})`, {}));
    for (const zone of ZONES) expect(life(`pid: ${pid}, startTime: ${startTime}`, zone)).toBe("alive");
    expect(life(`pid: ${pid}, startTime: "1000"`)).toBe("dead");
    expect(life(`pid: 4194304, startTime: ${startTime}`)).toBe("dead");
    expect(tell(`machine.startTimeOf(${pid})`, { NO_TOOLS: "1" })).toBe("");
    expect(life(`pid: ${pid}, startTime: ${startTime}`, { NO_TOOLS: "1" })).toBe("unknown");
  });

  it.each(["file:store", "sqlite:locks.db"])("a lock with --pid of a living process is kept, in %s", async (store) => {
    const scene = new Scene();
    const url = store.replace(":", `:${scene.dir}/`);
    const pid = startSleeper();
    const run = (owner: string, env: Record<string, string>) =>
      scene.run(["lock", "acquire", "k", "--wait", "0", "--pid", String(pid), "--ttl", "30s"], {
        env: { HOLDFAST_OWNER: owner, HOLDFAST_STORE: url, NODE_OPTIONS: `--import ${PRELOAD}`, ...env },
      });
    expect((await run("agent:one", { TZ: "UTC" })).exit).toBe(0);
    for (const env of [{ TZ: "Asia/Tokyo" }, { PATH: "/nonexistent" }, { NO_TOOLS: "1" }])
      expect((await run("agent:two", env)).exit).toBe(75);
    await scene.close();
  });

  it("run starts a command where there is no ps", async () => {
    const scene = await openScene();
    const told = await scene.run(["run", "k", "--", "sh", "-c", "echo ran"], {
      env: { NODE_OPTIONS: `--import ${PRELOAD}`, NO_TOOLS: "1" },
    });
    expect(told).toMatchObject({ exit: 0, stdout: expect.stringContaining("ran") });
    await scene.close();
  });
});
