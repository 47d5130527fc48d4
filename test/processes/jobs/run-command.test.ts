import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";

const RUN_COMMAND = new URL("../../../dist/features/jobs/children/run-command.js", import.meta.url).href;
const WATCHER = new URL("../../../dist/platform/process/watcher.js", import.meta.url).href;

/** What a process prints that has these commands run, with so many descriptors. */
function printed(script: string, descriptors = 1_024): string {
  const program = `
    import { spawn } from "node:child_process";
    import { once } from "node:events";
    import { closeSync, openSync } from "node:fs";
    import { Keeper } from "${WATCHER}";
    import { runJobCommand } from "${RUN_COMMAND}";
    const unguarded = { started: (begin) => begin({}), over: () => undefined };
    const { signal } = new AbortController();
    const run = (...command) => runJobCommand({ id: 1, command }, null, signal, unguarded, process.env);
    const withoutDescriptors = (work) => {
      const taken = [];
      try { for (;;) taken.push(openSync("/dev/null")); } catch {}
      const result = work();
      for (const each of taken) closeSync(each);
      return result;
    };
    ${script}`;
  const node = [process.execPath, "--input-type=module", "-e", program];
  const env = { ...process.env, HOLDFAST_FENCING_TOKEN: "7", HOLDFAST_OUTER: "of the worker" };
  return execFileSync("sh", ["-c", `ulimit -n ${descriptors}; exec "$@"`, "sh", ...node], { encoding: "utf8", env });
}

describe("JOB-6: the process of a command", () => {
  it("that cannot be started for want of descriptors is a failed run, and ends nobody else", () => {
    const script = `
      const failed = withoutDescriptors(() => run("true").catch((error) => error.code));
      console.log(await failed, (await run("true")).exit_code);`;
    expect(printed(script, 64)).toBe("E_IO 0\n");
  });

  // kills: job-keeper-again
  it("has a keeper, also when that could not be started the first time", () => {
    const script = `
      const keeper = new Keeper(({ code }) => console.log(code));
      withoutDescriptors(() => keeper.start());
      const child = spawn("sleep", ["20"], { detached: true });
      await once(child, "spawn");
      keeper.keep(child.pid, 10);
      console.log((await once(child, "exit"))[1]);
      keeper.close();`;
    expect(printed(script, 64)).toBe("EMFILE\nSIGKILL\n");
  });

  // kills: job-output-left-open
  it("that has left its group keeps its output open, and does not keep the worker from ending", () => {
    const startedAt = performance.now();
    expect(printed(`console.log((await run("sh", "-c", "setsid sleep 20 & env | grep HOLDFAST")).output)`)).toBe(
      "HOLDFAST_JOB=1\n\n",
    );
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });
});
