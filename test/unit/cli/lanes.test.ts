import { describe, expect, it } from "vitest";
import { jobProgress, jobTable } from "../../../src/apps/cli/jobs/jobs.js";
import { lanesLine, lanesPicture } from "../../../src/apps/cli/jobs/lanes-text.js";
import type { JobRecord, Lane, Lanes } from "../../../src/jobs.js";

const at = (width: number) => ({ width, paint: (_: string, text: string) => text });

const run = (id: number, of: Partial<JobRecord>): JobRecord =>
  ({
    id,
    kind: "render",
    map: null,
    attempts: 1,
    max_attempts: 3,
    started_at: new Date(Date.now() - 5_000).toISOString(),
    progress: null,
    ...of,
  }) as JobRecord;

const lane = (project: string, of: Partial<Lane>): Lane => ({
  project,
  cap: null,
  running: of.runs?.length ?? 0,
  ready: 0,
  waiting: 0,
  is_parked: false,
  runs: [],
  ...of,
});

const LANES: Lanes = {
  running: 4,
  cap: 8,
  scheduled: 2,
  lanes: [
    lane("alpha", {
      cap: 3,
      ready: 1_000,
      runs: [run(7, { map: "m1", progress: { tiles: [1, 2, 3], of: "many more" } })],
    }),
    lane("a-project-with-a-name-that-is-longer-than-most", { cap: 2, ready: 5, is_parked: true }),
    lane("gamma", { waiting: 1, runs: [run(8, {}), run(12_345, { kind: "a-kind-with-a-long-name", attempts: 2 })] }),
  ],
  more: 4,
};

describe("JOB-7: lanes of projects", () => {
  it.each([80, 50, 34])("fit into %i columns, the runs of all projects in the same ones", (width) => {
    const lines = lanesPicture(LANES, at(width));
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(width);
    const heading = lines.find((line) => line.includes("JOB")) ?? "";
    const runs = lines.filter((line) => line.startsWith("  ") && line !== heading);
    expect(runs).toHaveLength(3);
    for (const line of runs) expect(line.slice(0, heading.indexOf("KIND") - 2)).toMatch(/^ +\d+$/);
    const end = heading.indexOf("FOR") + 3;
    for (const line of runs) expect(line.slice(0, end)).toMatch(/ s$/);
    expect(lines.findIndex((line) => line.startsWith("alpha:")) + 1).toBe(lines.findIndex((line) => / 7 /.test(line)));
  });

  it("a run whose worker is not heard of is told as such, there and in lists", () => {
    const lost = { ...run(7, { is_lapsed: true, unmet_needs: [] }), project: "alpha", cron: null, error: null };
    const job = { ...lost, state: "running" } as JobRecord;
    const [all, list] = [{ ...LANES, lanes: [lane("alpha", { runs: [job] })] }, jobTable([job], at(80))];
    for (const text of [lanesPicture(all, at(80)).join("\n"), list]) expect(text).toContain("worker not heard of");
    expect(jobProgress(job)).toMatch(/^job 7: running for \d+ s, try 1 of 3, worker not heard of$/);
  });

  it("say what is counted, and what is held back", () => {
    const [title, ...rest] = lanesPicture(LANES, at(120));
    expect(title).toMatch(/^\d\d:\d\d:\d\d {2}4 of 8 running, 1005\+ ready, 2 scheduled \(Ctrl-C ends\)$/);
    expect(rest).toContain("alpha: 1 of 3 running, 1000+ ready");
    expect(rest).toContain(
      "a-project-with-a-name-that-is-longer-than-most: 0 of 2 running, 5 ready, held back by a cap",
    );
    expect(rest.at(-1)).toBe("and 4 more projects");
    expect(lanesPicture({ ...LANES, lanes: [], more: 0 }, at(80)).at(-1)).toBe("nothing to do");
  });

  it("are a line elsewhere, the same as long as nothing changes", () => {
    expect(lanesLine(LANES)).toBe(
      "4 of 8 running, 1005+ ready, 2 scheduled; alpha: 1 of 3 running, 1000+ ready (7); " +
        "a-project-with-a-name-that-is-longer-than-most: 0 of 2 running, 5 ready, held back by a cap; " +
        "gamma: 2 running, 0 ready, 1 waiting for a lock (8 12345)",
    );
  });
});
