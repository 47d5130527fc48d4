import { describe, expect, it } from "vitest";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";
import type { Hands } from "../../fixtures/jobs/scheduler-steps.fixture.js";

/** As if each run had taken this long: what it began at is moved back. */
async function serve(hands: Hands, starts: number, tookMs: (project: string) => number): Promise<Map<string, number>> {
  const served = new Map<string, number>();
  for (let at = 0; at < starts; at += 1) {
    const [run] = await hands.turn();
    if (run === undefined) break;
    const { project } = run.job;
    const ms = tookMs(project);
    await hands.rows("UPDATE job_slots SET started_ms = started_ms - ?1 WHERE job = ?2", ms, run.job.id);
    await hands.settle(run);
    served.set(project, (served.get(project) ?? 0) + ms);
  }
  return served;
}

function addMany(hands: Hands, project: string, count: number): Promise<void> {
  return hands.addMany(count, { project });
}

describe.each(STORES)("JOB-3: fair between projects, on %s", (on) => {
  it("a project's first job is not delayed by the 500 of another", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await addMany(hands, "many", 500);
    await serve(hands, 20, () => 10_000);
    const { id } = await hands.add({ project: "one" });
    const next = [await hands.turn(), await hands.turn(), await hands.turn()].flat();
    expect(next.map(({ job }) => job.id)).toContain(id);
  });

  it("a project that was idle is owed nothing for it", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await addMany(hands, "busy", 60);
    await serve(hands, 30, () => 10_000);
    await addMany(hands, "new", 30);
    const served = await serve(hands, 20, () => 10_000);
    expect(served.get("busy")).toBeGreaterThanOrEqual(80_000);
    expect(served.get("new")).toBeGreaterThanOrEqual(80_000);
  });

  it("served time goes by weight, one to three", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.setProject("heavy", { weight: 3 });
    await addMany(hands, "heavy", 100);
    await addMany(hands, "light", 100);
    const served = await serve(hands, 80, () => 10_000);
    const share = (served.get("heavy") ?? 0) / (served.get("light") ?? 1);
    expect(share).toBeGreaterThan(2.4);
    expect(share).toBeLessThan(3.6);
  });

  it("what counts is time, not the number of jobs: long ones are started less often", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await addMany(hands, "long", 100);
    await addMany(hands, "short", 100);
    const served = await serve(hands, 80, (project) => (project === "long" ? 50_000 : 10_000));
    const share = (served.get("long") ?? 0) / (served.get("short") ?? 1);
    expect(share).toBeGreaterThan(0.7);
    expect(share).toBeLessThan(1.4);
  });

  // kills: job-gate-in-sql, job-share-in-sql
  it("one turn with much room begins what as many turns with room for one would", async () => {
    const begun: number[][] = [];
    for (const rooms of [[12, 60], Array<number>(72).fill(1)]) {
      await using place = new Place(on);
      const hands = await place.hands();
      await hands.setCaps({ maxCpuJobs: 5 });
      await hands.setProject("heavy", { weight: 4 });
      await hands.setProject("capped", { cap: 3, mapCap: 1 });
      for (const project of ["light", "heavy", "capped"]) {
        await hands.addMany(8, { project });
        await hands.addMany(3, { project, class: "cpu" });
        await hands.add({ project, priority: 7 }, "other");
        await hands.add({ project, map: "m1", priority: 9 });
        await hands.add({ project, map: "m2", priority: 5 });
      }
      const each = [];
      for (const room of rooms) each.push(...(await hands.turn({ room, has: ["kind:k", "kind:other"] })));
      begun.push(each.map(({ job }) => job.id));
    }
    const [together, oneByOne] = begun;
    expect(together?.length).toBeGreaterThan(20);
    expect(together).toEqual(oneByOne);
  });

  // kills: job-priority, job-priority-in-sql
  it.each([1, 6])(
    "JOB-7: a project's jobs begin by priority, then in order, whatever their kind (%i at once)",
    async (room) => {
      await using place = new Place(on);
      const hands = await place.hands();
      const P = { project: "alpha" };
      const jobs = [
        await hands.add(P),
        await hands.add({ ...P, class: "cpu" }, "other"),
        await hands.add({ ...P, priority: 5 }, "other"),
        await hands.add({ ...P, map: "m", priority: 9 }),
        await hands.add({ ...P, priority: 5, needs: ["fs"] }),
        await hands.add(P),
      ];
      const of = { room, has: ["kind:k", "kind:other", "fs"] };
      const begun = [];
      while (begun.length < jobs.length) begun.push(...(await hands.turn(of)));
      expect(begun.map(({ job }) => job.id)).toEqual([4, 3, 5, 1, 2, 6].map((nth) => jobs[nth - 1]?.id));
    },
  );

  it("JOB-7: a project's jobs begin by priority also where other projects wait as long", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.add({ project: "alpha" });
    await hands.add({ project: "beta" }, "other");
    const urgent = await hands.add({ project: "alpha", priority: 5 }, "other");
    const begun = await hands.turn({ room: 1, has: ["kind:k", "kind:other"] });
    expect(begun.map(({ job }) => job.id)).toEqual([urgent.id]);
  });

  // kills: job-round-in-sql
  it("what a run took and what it gives back counts for the turn in the step that settles it", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    for (const project of ["long", "short", "capped"]) await hands.addMany(3, { project });
    await hands.setProject("capped", { cap: 1 });
    const runs = await hands.turn({ room: 3 });
    const of = (project: string) => runs.filter(({ job }) => job.project === project);
    await hands.rows("UPDATE job_slots SET started_ms = started_ms - 50000 WHERE job = ?1", of("long")[0]?.job.id);
    const after = await hands.round([...of("long"), ...of("short")], { room: 1 });
    expect(after.runs.map(({ job }) => job.project)).toEqual(["short"]);
    expect(await hands.turn({ room: 1, has: [] })).toEqual([]);
    await hands.setProject("long", { cap: 0 });
    await hands.setProject("short", { cap: 0 });
    expect((await hands.round(of("capped"), { room: 3 })).runs.map(({ job }) => job.project)).toEqual(["capped"]);
  });

  it("a project at its cap holds nobody back, and goes on where it was", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.setProject("capped", { cap: 1 });
    await addMany(hands, "capped", 50);
    await addMany(hands, "free", 10);
    const runs = await hands.turn({ room: 20 });
    expect(runs.map(({ job }) => job.project).sort()).toEqual(["capped", ...Array(10).fill("free")]);
    const first = runs.find(({ job }) => job.project === "capped");
    if (first !== undefined) await hands.settle(first);
    expect((await hands.turn({ room: 20 })).map(({ job }) => job.project)).toEqual(["capped"]);
  });
});

describe.each(STORES)("JOB-2: caps, on %s", (on) => {
  // kills: job-cap, job-cap-in-sql
  it("hold when others are changed, and a lowered one lets what runs go on", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.setProject("capped", { cap: 2 });
    await addMany(hands, "capped", 5);
    const runs = await hands.turn({ room: 10 });
    expect(runs).toHaveLength(2);
    await hands.setCaps({ maxIoJobs: 50 });
    await hands.setCaps({ maxIoJobs: undefined } as never);
    expect(await hands.rows("SELECT cap FROM job_gates WHERE name = 'io'")).toEqual([{ cap: 50 }]);
    expect(await hands.turn({ room: 10 })).toEqual([]);
    await hands.setProject("capped", { cap: 1 });
    for (const run of runs) expect(await hands.beat(run)).toEqual(["kept"]);
    const [first, second] = runs;
    if (first === undefined || second === undefined) throw new Error("not started");
    await hands.settle(first);
    expect(await hands.turn({ room: 10 })).toEqual([]);
    await hands.settle(second);
    expect(await hands.turn({ room: 10 })).toHaveLength(1);
  });

  // kills: job-caps-changed-in-sql
  it("that are changed stop nobody, however many projects they hold back", async () => {
    await using place = new Place(on);
    const hands = await place.hands();
    await hands.setCaps({ maxJobsPerProject: 1 });
    for (const project of ["a", "b", "c", "d"]) await addMany(hands, project, 2);
    expect(await hands.turn({ room: 10 })).toHaveLength(4);
    await hands.setCaps({ maxIoJobs: 50 });
    const { id } = await hands.add({ project: "late" });
    for (const table of ["job_projects", "job_flows"])
      await hands.rows(`UPDATE ${table} SET vt = 1000000 WHERE project = 'late'`);
    expect((await hands.turn({ room: 1 })).map(({ job }) => job.id)).toEqual([id]);
  });
});
