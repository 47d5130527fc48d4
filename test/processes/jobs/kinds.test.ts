import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { STORES } from "../../fixtures/jobs/jobs.fixture.js";
import { KindWorkers } from "../../fixtures/jobs/kind-workers.fixture.js";

const CLI = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const WAIT = { timeoutMs: 120_000 };
const POLL = { timeout: 120_000 };
const K = { resource: "named:m1", mode: "write" } as const;
const OTHER = { resource: "named:m2", mode: "write" } as const;

describe.each(STORES)("what a worker defines for a kind, on %s", (on) => {
  it("locks the jobs of a producer that does not define the kind", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: [K] });
    const ids = await workers.add({ ms: 100 }, { ms: 100 }, { ms: 100 });
    const jobs = await workers.jobs();
    for (const id of ids) expect((await jobs.wait(id, WAIT)).state).toBe("done");
    expect(workers.begun().map(({ keys }) => keys)).toEqual([["named:m1"], ["named:m1"], ["named:m1"]]);
    expect(workers.most).toBe(1);
    expect((await jobs.get(ids[0] ?? 0)).locks).toEqual([K]);
  });

  it("locks by a function of the payload, and lets jobs with other locks run beside", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: "byMap" });
    const [first = 0, second = 0, other = 0] = await workers.add({ map: "m1" }, { map: "m1" }, { map: "m2" });
    await expect.poll(() => workers.begun().map(({ job }) => job), POLL).toEqual([first, other]);
    const jobs = await workers.jobs();
    await expect.poll(async () => (await jobs.get(second)).state, POLL).toBe("waiting");
    workers.letGo();
    for (const id of [first, second, other]) expect((await jobs.wait(id, WAIT)).state).toBe("done");
    expect(workers.begun().map(({ keys }) => keys)).toEqual(
      ["m1", "m2", "m1"].map((map) => [`project:alpha/map:${map}`]),
    );
  });

  it("fails the job whose function throws, with the reason, and blocks no other", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: "throwing", attempts: 1 });
    const [bad = 0, good = 0] = await workers.add({ map: "m1", bad: true, ms: 0 }, { map: "m1", ms: 0 });
    const jobs = await workers.jobs();
    expect((await jobs.wait(good, WAIT)).state).toBe("done");
    expect(await jobs.wait(bad, WAIT)).toMatchObject({
      state: "failed",
      error: { code: "E_INVALID_ARGUMENT", message: expect.stringContaining("no such map") },
    });
  });

  it("fails the job whose function gives what is no lock", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: "unusable", attempts: 1 });
    const [id = 0] = await workers.add({ ms: 0 });
    expect(await (await workers.jobs()).wait(id, WAIT)).toMatchObject({
      state: "failed",
      error: { code: "E_INVALID_ARGUMENT", message: expect.stringContaining("exclusive") },
    });
  });

  it("bounds the attempts, also of a job whose worker is killed", async () => {
    await using workers = new KindWorkers(on);
    const killed = await workers.start({ attempts: 1 });
    const jobs = await workers.jobs();
    const [failing = 0, lost = 0] = await workers.add({ ms: 0, fails: true }, {});
    expect(await jobs.wait(failing, WAIT)).toMatchObject({ state: "failed", attempts: 1, max_attempts: 1 });
    await expect.poll(() => workers.begun().length, POLL).toBe(2);
    await workers.end(killed);
    await workers.start({});
    expect(await jobs.wait(lost, WAIT)).toMatchObject({ state: "failed", error: { code: "E_LOCK_EXPIRED" } });
    expect(workers.begun()).toHaveLength(2);
  });

  it("bounds the time, and a job's own shorter one stays", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ timeout: "300ms", attempts: 1 });
    const jobs = await workers.jobs();
    const [id = 0] = await workers.add({ ms: 60_000 });
    const { id: shorter } = await jobs.enqueue("edit", { ms: 60_000 }, { project: "alpha", timeout: 100 });
    expect((await jobs.wait(id, WAIT)).error?.message).toContain("300 ms");
    expect((await jobs.wait(shorter, WAIT)).error?.message).toContain("100 ms");
  });

  it("counts jobs without a class under the cap of the kind's class, and leaves a job its own", async () => {
    await using workers = new KindWorkers(on);
    const jobs = await workers.jobs();
    await jobs.setCaps({ maxCpuJobs: 1 });
    const ids = await workers.add({ ms: 100 }, { ms: 100 });
    await workers.start({ class: "cpu" });
    for (const id of ids) expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", class: "cpu" });
    expect(workers.most).toBe(1);
    await jobs.setCaps({ maxCpuJobs: 0 });
    const { id } = await jobs.enqueue("edit", { ms: 0 }, { project: "alpha", class: "io" });
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done", class: "io" });
    const hands = await workers.place.hands();
    expect(await hands.rows("SELECT running FROM job_gates WHERE running <> 0")).toEqual([]);
  });

  it("counts as a union while two workers define it differently, and both say so", async () => {
    await using workers = new KindWorkers(on);
    const both = [await workers.start({ locks: [K] }), await workers.start({ locks: [OTHER] })];
    for (const { warnings } of both)
      await expect
        .poll(() => warnings, POLL)
        .toEqual([{ code: "HOLDFAST_KINDS_DIFFER", warning: expect.stringContaining("edit") }]);
    const ids = await workers.add({ ms: 50 }, { ms: 50 }, { ms: 50 }, { ms: 50 });
    const jobs = await workers.jobs();
    for (const id of ids) expect((await jobs.wait(id, WAIT)).state).toBe("done");
    for (const { keys } of workers.begun()) expect([...keys].sort()).toEqual(["named:m1", "named:m2"]);
    expect(workers.most).toBe(1);
  });

  it("holds in the functions of all live workers, and no longer when one of them is killed", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: "byMap" });
    const other = await workers.start({ locks: "byName" });
    const jobs = await workers.jobs();
    for (const id of await workers.add({ map: "m1", ms: 20 }, { map: "m1", ms: 20 }, { map: "m2", ms: 20 }))
      expect((await jobs.wait(id, WAIT)).state).toBe("done");
    for (const { keys } of workers.begun()) expect(keys).toHaveLength(2);
    await workers.end(other);
    const [last = 0] = await workers.add({ map: "m1", ms: 0 });
    expect(await jobs.wait(last, WAIT)).toMatchObject({ state: "done" });
    expect(workers.begun().at(-1)?.keys).toEqual(["project:alpha/map:m1"]);
  });

  // kills: worker-that-stops
  it("holds while its worker stops and a run of it goes on", async () => {
    await using workers = new KindWorkers(on);
    const old = await workers.start({ locks: "byMap" });
    const [first = 0] = await workers.add({ map: "m1" });
    await expect.poll(() => workers.begun().map(({ job }) => job), POLL).toEqual([first]);
    workers.stop(old);
    await workers.start({ locks: "byName" });
    const jobs = await workers.jobs();
    const [second = 0] = await workers.add({ map: "m2", ms: 0 });
    expect((await jobs.wait(second, WAIT)).state).toBe("done");
    expect([...(workers.begun().at(-1)?.keys ?? [])].sort()).toEqual(["named:m2", "project:alpha/map:m2"]);
    expect((await jobs.get(first)).state).toBe("running");
    workers.letGo();
    expect((await jobs.wait(first, WAIT)).state).toBe("done");
  });

  it("holds for a job that the command adds, a job added in SQL, and the jobs of a schedule", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: [K] });
    const store = await workers.place.store();
    const words = [CLI, "job", "add", "edit", "--project", "alpha", "--payload", '{"ms":100}', "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, words, {
      cwd: workers.place.dir,
      env: { ...process.env, HOLDFAST_STORE: store },
    });
    const ids = [(JSON.parse(stdout) as { data: { job: { id: number } } }).data.job.id];
    const hands = await workers.place.hands();
    if (on === "postgres") {
      const spec = '{"kind":"edit","project":"alpha","payload":{"ms":100}}';
      const [row] = await hands.rows<{ id: number }>("SELECT holdfast.job_enqueue(?1::json) AS id", spec);
      ids.push(Number(row?.id));
    }
    const jobs = await workers.jobs();
    const schedule = await jobs.enqueue("edit", { ms: 100 }, { project: "alpha", cron: "* * * * * *" });
    const ofSchedule = async () => (await jobs.list()).filter((job) => job.schedule === schedule.id).length;
    await expect.poll(ofSchedule, POLL).toBeGreaterThan(0);
    await jobs.cancel(schedule.id);
    for (const id of [...ids, schedule.id + 1]) expect((await jobs.wait(id, WAIT)).locks).toEqual([K]);
    expect(workers.most).toBe(1);
  });

  it("holds for a command of the kind, and the worker that runs commands reports that others differ", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: "byMap", timeout: "1m" });
    const other = await workers.start({ timeout: "300ms", attempts: 1 });
    const env = { ...process.env, HOLDFAST_STORE: await workers.place.store() };
    const command = spawn(process.execPath, [CLI, "worker"], {
      cwd: workers.place.dir,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let printed = "";
    for (const stream of [command.stdout, command.stderr]) stream.on("data", (part: Buffer) => (printed += part));
    try {
      await expect.poll(() => printed, POLL).toContain("define the kind edit differently");
      const jobs = await workers.jobs();
      const options = { project: "alpha", command: ["sleep", "600"] };
      const { id } = await jobs.enqueue("edit", { map: "m1" }, options);
      expect(await jobs.wait(id, WAIT)).toMatchObject({
        state: "failed",
        attempts: 1,
        timeout_ms: 300,
        locks: [{ resource: "project:alpha/map:m1", mode: "write" }],
      });
    } finally {
      const over = once(command, "exit");
      command.kill("SIGKILL");
      await over;
      await workers.end(other);
    }
  });

  it("is waited for while its worker stands still, and begins without it once its lease is over", async () => {
    await using workers = new KindWorkers(on);
    await workers.start({ locks: "byMap" });
    const frozen = await workers.start({ locks: "byName", work: { concurrency: 1, poll: 60_000 } });
    // After its first turn it is idle: a process that stops inside a transaction of a server holds up the others for seconds.
    const hands = await workers.place.hands();
    await expect.poll(async () => (await hands.rows("SELECT 1 FROM job_workers")).length, POLL).toBe(2);
    frozen.process.kill("SIGSTOP");
    const [id = 0] = await workers.add({ map: "m1", ms: 0 });
    const jobs = await workers.jobs();
    const message = expect.stringContaining("a worker that defines edit");
    await expect.poll(() => jobs.get(id), POLL).toMatchObject({ state: "waiting", error: { message } });
    expect(await jobs.wait(id, WAIT)).toMatchObject({ state: "done" });
    expect(workers.begun().at(-1)?.keys).toEqual(["project:alpha/map:m1"]);
  });
});
