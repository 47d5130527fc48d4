/** JOB-1 to JOB-8 as commands. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listGroup } from "../../../src/platform/process/process-table.js";
import { ended, type Json, linesOf, openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
  writeFileSync(join(scene.root, "holdfast.config.json"), JSON.stringify({ jobs: { maxGlobalJobs: 3 } }));
});
afterAll(() => scene.close());

const add = async (to: Scene, ...words: string[]) =>
  JSON.parse((await to.run(["job", "add", "--json", ...words])).stdout).data.job;

describe("JOB-7: jobs as commands", () => {
  it("are added, listed, shown, run, waited for, and keep what they printed", async () => {
    const good = await add(
      scene,
      "sh",
      "--project",
      "alpha",
      "--lock",
      "project:alpha/map:m1:read",
      "--",
      "sh",
      "-c",
      "echo hi",
    );
    expect(good).toMatchObject({
      state: "ready",
      locks: [{ resource: "project:alpha/map:m1", mode: "read" }],
      unmet_needs: ["commands"],
    });
    const bad = await add(scene, "sh", "--project", "alpha", "--attempts", "1", "--", "sh", "-c", "echo why; exit 3");
    const later = await add(scene, "sh", "--project", "beta", "--delay", "1h", "--", "true");
    const page = await scene.data(["job", "list", "--limit", "2"]);
    expect(page).toMatchObject({ jobs: [{ id: good.id }, { id: bad.id }], next: bad.id });
    const rest = await scene.data(["job", "list", "--limit", "2", "--after", String(page.next)]);
    expect(rest).toMatchObject({ jobs: [{ id: later.id, state: "scheduled" }], next: null });

    const worker = scene.start(["worker", "--json"]);
    const over = ended(worker);
    const done = await scene.json(["job", "wait", String(good.id), "--wait", "4m"]);
    expect(done).toMatchObject({ exit: 0, data: { job: { state: "done", attempts: 1 } } });
    const failed = await scene.json(["job", "wait", String(bad.id), "--wait", "4m"]);
    expect(failed).toMatchObject({ exit: 1, data: { job: { state: "failed", error: { code: "failed" } } } });
    const logs = await scene.data(["job", "logs", String(bad.id)]);
    expect(logs).toEqual({ job: bad.id, output: "why\n", exit_code: 3, signal: null });
    expect((await scene.run(["job", "logs", String(good.id)])).stdout).toBe("hi\n");
    expect((await scene.run(["job", "show", String(bad.id)])).stdout).toContain("sh ended with 3: why");

    const hanging = await add(scene, "sh", "--project", "alpha", "--", "sh", "-c", "sleep 600");
    const begun = async () => (await scene.data(["job", "show", String(hanging.id)])).job.state;
    await expect.poll(begun, { timeout: 240_000 }).toBe("running");
    await scene.data(["job", "cancel", String(hanging.id)]);
    const gone = await scene.json(["job", "wait", String(hanging.id), "--wait", "4m"]);
    expect(gone).toMatchObject({ exit: 1, data: { job: { state: "cancelled" } } });
    expect((await scene.data(["job", "cancel", String(later.id)])).job.state).toBe("cancelled");
    expect((await scene.data(["job", "retry", String(later.id)])).job.state).toBe("ready");
    await scene.data(["job", "wait", String(later.id), "--wait", "4m"]);
    worker.kill("SIGTERM");
    const { exit, stdout } = await over;
    expect({ exit, data: JSON.parse(stdout).data }).toEqual({ exit: 0, data: { worker: expect.any(String) } });
  });

  it("are retried only when they failed or were cancelled, and else it is said how they stand", async () => {
    const { id } = await add(scene, "wait", "--project", "beta");
    const retry = () => scene.run(["job", "retry", String(id)]);
    expect(await retry()).toMatchObject({
      exit: 0,
      stdout: `nothing to retry, it waits already: job ${id}: wait of beta (ready)\n`,
    });
    await scene.data(["job", "cancel", String(id)]);
    expect(await retry()).toMatchObject({ exit: 0, stdout: `retried job ${id}: wait of beta (ready)\n` });
    await scene.data(["job", "cancel", String(id)]);
    const again = await scene.run(["job", "cancel", String(id)]);
    expect(again).toMatchObject({ exit: 0, stdout: `over already: job ${id}: wait of beta (cancelled)\n` });
  });

  it("of a unique name that is there already are not said to be added", async () => {
    const words = (kind: string) => ["job", "add", kind, "--project", "beta", "--unique", "once"];
    expect((await scene.run(words("first"))).stdout).toMatch(/^added job (\d+): first of beta \(ready\)\n$/);
    const { stdout } = await scene.run(words("second"));
    expect(stdout).toMatch(/^not added, this one has the name once: job \d+: first of beta \(ready\)\n$/);
    const { job } = await scene.data(words("third"));
    expect(job).toMatchObject({ kind: "first", unique_key: "once" });
    await scene.data(["job", "cancel", String(job.id)]);
  });

  it("a mistyped mode does not become part of the key", async () => {
    const words = (lock: string) => ["job", "add", "edit", "--project", "beta", "--lock", lock];
    expect(await scene.json(words("project:beta:wrte"))).toMatchObject({
      exit: 64,
      error: { message: expect.stringContaining("did you mean write?") },
    });
    const { job } = await scene.data(words("project:beta/map:road"));
    expect(job.locks).toEqual([{ resource: "project:beta/map:road", mode: "write" }]);
    await scene.data(["job", "cancel", String(job.id)]);
  });

  it("JOB-2: caps come from the configuration and from `project set`", async () => {
    const set = await scene.data(["project", "set", "alpha", "--cap", "2", "--map-cap", "1", "--weight", "1.5"]);
    expect(set.project).toMatchObject({ project: "alpha", cap: 2, map_cap: 1, weight: 1.5, running: 0 });
    expect((await scene.data(["project", "set", "alpha", "--cap", "none"])).project.cap).toBeNull();
    const caps = { maxGlobalJobs: 3, maxJobsPerProject: 4 };
    writeFileSync(join(scene.root, "holdfast.config.json"), JSON.stringify({ jobs: caps }));
    await scene.data(["init"]);
    expect((await scene.data(["project", "set", "alpha", "--cap", "none"])).project.cap).toBe(4);
    expect(await scene.json(["project", "set", "alpha"])).toMatchObject({ exit: 64 });
    const worker = scene.start(["worker", "--grace", "0"]);
    const over = ended(worker);
    const ids = [];
    for (let at = 0; at < 5; at += 1) ids.push((await add(scene, "sh", "--project", "many", "--", "sleep", "600")).id);
    const running = async () => (await scene.data(["job", "list", "--state", "running"])).jobs.length;
    await expect.poll(running, { timeout: 240_000 }).toBe(3);
    worker.kill("SIGTERM");
    expect((await over).exit).toBe(0);
    const { jobs } = await scene.data(["job", "list", "--project", "many"]);
    expect(jobs.map((job: { state: string; attempts: number }) => `${job.state} ${job.attempts}`)).toEqual(
      ids.map(() => "ready 0"),
    );
  });

  it("JOB-6: a command ends when its worker was killed", async () => {
    const own = await openScene();
    const file = join(own.root, "pid");
    const worker = own.start(["worker", "--lease", "1h"]);
    const over = ended(worker);
    await add(
      own,
      "sh",
      "--project",
      "alpha",
      "--",
      "sh",
      "-c",
      `echo $$ > ${file}.new; mv ${file}.new ${file}; sleep 600`,
    );
    await expect.poll(() => existsSync(file), { timeout: 240_000 }).toBe(true);
    const group = Number(readFileSync(file, "utf8"));
    // A worker that has come to another job has told its keeper of this one.
    const { id } = await add(own, "sh", "--project", "alpha", "--", "true");
    await own.json(["job", "wait", String(id), "--wait", "4m"]);
    worker.kill("SIGKILL");
    await over;
    await expect.poll(() => listGroup(group).some(({ isZombie }) => !isZombie), { timeout: 240_000 }).toBe(false);
    await own.close();
  });

  it("job list --watch tells of changes, a line each", async () => {
    const own = await openScene();
    const watching = own.start(["job", "list", "--watch", "--json", "--project", "seen"]);
    const over = ended(watching);
    const lines = linesOf(watching);
    const until = async (isThere: (lane: Json | undefined) => boolean): Promise<void> => {
      for (let lane: Json | undefined, isFirst = true; isFirst || !isThere(lane); isFirst = false)
        [lane] = JSON.parse((await lines.next()).value ?? "").lanes;
    };
    await until((lane) => lane === undefined);
    const job = await add(own, "sh", "--project", "seen", "--", "sleep", "600");
    await until((lane) => lane?.running === 0 && lane.ready === 1);
    const worker = own.start(["worker", "--grace", "0"]);
    const stopped = ended(worker);
    await until((lane) => lane?.running === 1 && lane.runs[0].id === job.id);
    for (const process of [watching, worker]) process.kill("SIGTERM");
    expect([(await over).exit, (await stopped).exit]).toEqual([0, 0]);
    expect(await own.json(["job", "list", "--watch", "--state", "done"])).toMatchObject({ ok: false, exit: 64 });
    await own.close();
  });

  it("refuses what is odd, with the field", async () => {
    const odd = [
      ["job", "add", "sh", "--project", "alpha", "--payload", "{"],
      ["job", "add", "s h", "--project", "alpha"],
      ["job", "add", "sh"],
      ["job", "show", "x"],
    ];
    for (const words of odd) expect(await scene.json(words)).toMatchObject({ ok: false, exit: 64 });
    const twice = await scene.json(["job", "add", "sh", "--project", "alpha", "--at", "2h", "--delay", "1h"]);
    expect(twice).toMatchObject({ exit: 64, error: { code: "E_INVALID_ARGUMENT", details: { field: "delay" } } });
    expect(twice.error.message).toContain("leave out one of at and delay");
    const zone = ["job", "add", "sh", "--project", "alpha", "--cron", "* * * * *", "--time-zone", "Foo"];
    expect((await scene.run(zone)).stderr).toContain('holdfast: --time-zone: "Foo" is no time zone');
    const cron = await scene.run(["job", "add", "sh", "--project", "alpha", "--cron", "3 o'clock"]);
    expect(cron.stderr).toContain(`--cron: "3 o'clock" is no schedule such as 0 3 * * 1-5: `);
    expect(await scene.json(["worker", "--grace", "1x"])).toMatchObject({ command: "worker", exit: 64 });
    expect(await scene.json(["job", "show", "9999"])).toMatchObject({ exit: 89, error: { code: "E_NOT_FOUND" } });
  });
});
