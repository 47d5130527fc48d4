import { describe, expect, it } from "vitest";
import { Place, STORES } from "../../fixtures/jobs/jobs.fixture.js";

describe.each(STORES)("JOB-7: lanes of projects, on %s", (on) => {
  it("have what runs, what may start, what waits for a lock, and what holds them back", async () => {
    await using place = new Place(on);
    const [jobs, hands] = [await place.jobs(), await place.hands()];
    const locks = [{ resource: "k", mode: "write" }] as const;
    await hands.setCaps({ maxGlobalJobs: 9 });
    await hands.setProject("capped", { cap: 1 });
    await hands.addMany(3, { project: "capped" });
    for (let at = 0; at < 2; at += 1) await hands.add({ project: "locked", locks });
    await hands.add({ project: "later", delay: "1h" });
    // More than are counted; on a server it would only take longer.
    const many = on === "sqlite" ? 1_010 : 10;
    await hands.addMany(many, { project: "many", map: "m" });
    await hands.setProject("many", { mapCap: 0 });
    const runs = await hands.turn({ room: 9 });
    expect(runs.map(({ job }) => job.project).sort()).toEqual(["capped", "locked"]);
    const lanes = await jobs.lanes();
    expect(lanes).toMatchObject({ running: 2, cap: 9, scheduled: 1, more: 0 });
    expect(lanes.lanes).toMatchObject([
      { project: "capped", cap: 1, running: 1, ready: 2, waiting: 0, is_parked: true, runs: [{ state: "running" }] },
      { project: "locked", cap: null, running: 1, ready: 0, waiting: 1, is_parked: false, runs: [{ locks }] },
      { project: "many", running: 0, ready: Math.min(many, 1_000), is_parked: true, runs: [] },
    ]);
    const [run] = runs.filter(({ job }) => job.project === "capped");
    if (run !== undefined) await hands.settle(run);
    const only = await jobs.lanes({ project: "capped" });
    expect(only.lanes).toMatchObject([{ project: "capped", running: 0, ready: 2, is_parked: false, runs: [] }]);
    await expect(jobs.lanes({ project: " " })).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });
});
