import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BoardExport } from "../../../src/features/board/board.js";
import { expectSoundBoard, newPlace, type Place } from "../../fixtures/board/board.fixture.js";

const read = (name: string): string =>
  readFileSync(new URL(`../../fixtures/board/samples/${name}`, import.meta.url), "utf8");

describe("import and export", () => {
  let place: Place;
  beforeEach(async () => {
    place = await newPlace();
  });
  afterEach(() => place.close());

  it("takes tasks.json of task-master, with tags, subtasks and dependencies", async () => {
    await place.board.add({ title: "there before" });
    const { issues, skipped } = await place.board.import(read("tasks.json"), "task-master");
    expect(skipped).toBe(0);
    const bySource = new Map(issues.map((issue) => [issue.context.source_id, issue]));
    expect([...bySource.keys()]).toEqual(["1", "2", "2.1", "2.2", "3", "4"]);
    expect(bySource.get("1")).toMatchObject({ title: "Set up the repository", state: "done", priority: "high" });
    const idOf = (source: string): string => bySource.get(source)?.id ?? "";
    expect(bySource.get("2")?.dependencies).toEqual([idOf("1"), idOf("2.1"), idOf("2.2")]);
    expect(bySource.get("2.2")?.dependencies).toEqual([idOf("2.1")]);
    expect(bySource.get("2")?.description).toContain("Test strategy: ");
    expect(bySource.get("3")).toMatchObject({
      state: "backlog",
      context: { missing_dependencies: ["99"], tag: "master" },
    });
    expect(bySource.get("4")).toMatchObject({ state: "rejected" });
    expect((await place.board.list({ ready: true })).issues.map(({ id }) => id)).toEqual(["1", idOf("2.1")]);
    await expectSoundBoard(place.board);
  });

  it("takes the same file again without making anything twice, and adds what is new", async () => {
    const text = read("tasks.json");
    await place.board.import(text, "task-master");
    expect(await place.board.import(text, "task-master")).toEqual({ issues: [], skipped: 6 });
    const file = JSON.parse(text) as { master: { tasks: unknown[] } };
    file.master.tasks.push({ id: 5, title: "New", status: "pending", dependencies: [2] });
    const { issues, skipped } = await place.board.import(JSON.stringify(file), "task-master");
    expect(skipped).toBe(6);
    const [second] = (await place.board.list({ text: "Parser" })).issues;
    expect(issues).toMatchObject([{ title: "New", dependencies: [second?.id] }]);
  });

  it("takes files with a byte order mark", async () => {
    const { board } = place;
    const task = '{"tasks":[{"id":1,"title":"task"}]}';
    expect((await board.import(`\uFEFF${task}`, "task-master")).issues).toHaveLength(1);
    expect((await board.import('\uFEFF{"id":"bd-1","title":"bead"}', "beads")).issues).toHaveLength(1);
    expect(await board.import(`\uFEFF${JSON.stringify(await board.export())}`, "holdfast")).toMatchObject({
      skipped: 2,
    });
  });

  it("takes the JSONL of beads: blocks become dependencies, other links stay in the context", async () => {
    const { issues } = await place.board.import(read("beads.jsonl"), "beads");
    const bySource = new Map(issues.map((issue) => [issue.context.source_id, issue]));
    expect([...bySource.keys()]).toEqual(["bd-a1", "bd-b2", "bd-c3", "bd-d4"]);
    const idOf = (source: string): string => bySource.get(source)?.id ?? "";
    expect(bySource.get("bd-b2")).toMatchObject({
      state: "ready",
      priority: "critical",
      labels: ["auth", "bug"],
      assignee: "kim",
      dependencies: [idOf("bd-a1")],
      context: { related: [{ type: "discovered-from", id: "bd-c3" }] },
    });
    expect(bySource.get("bd-a1")).toMatchObject({ state: "done" });
    expect(bySource.get("bd-d4")).toMatchObject({ priority: "low" });
    expect(bySource.get("bd-c3")?.description).toContain("Acceptance criteria:");
    await expectSoundBoard(place.board);
  });

  it("a bead that comes later still depends on one that was imported before; one that is nowhere is noted", async () => {
    await place.board.import('{"id":"bd-1","title":"first"}', "beads");
    const links = [{ depends_on_id: "bd-1", type: "blocks" }, { depends_on_id: "bd-9" }, null];
    const later = JSON.stringify({ id: "bd-2", title: "second", dependencies: links });
    expect((await place.board.import(later, "beads")).issues).toMatchObject([
      { dependencies: ["1"], context: { missing_dependencies: ["bd-9"] } },
    ]);
  });

  it("a file that is not what it should be, or has a cycle, changes nothing", async () => {
    const { board } = place;
    for (const text of ["", "[]", "{}", '{"tasks":[{"id":1}]}', '{"tasks":[{"title":"x"}]}'])
      await expect(board.import(text, "task-master"), text).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    await expect(board.import('{"tasks":[null]}', "task-master")).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    const named = { code: "E_INVALID_ARGUMENT", message: expect.stringContaining("bd-7") };
    const label = '{"id":"bd-7","title":"x","labels":["a,b"]}';
    const twice = '{"id":"bd-7","title":"x"}\n{"id":"bd-7","title":"y"}';
    for (const text of [label, twice]) await expect(board.import(text, "beads"), text).rejects.toMatchObject(named);
    for (const text of ["no json", '{"id":"x"}', '{"title":"x"}'])
      await expect(board.import(text, "beads"), text).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    const cycle = {
      tasks: [
        { id: 1, title: "a", dependencies: [2] },
        { id: 2, title: "b", dependencies: [1] },
      ],
    };
    await expect(board.import(JSON.stringify(cycle), "task-master")).rejects.toMatchObject({ code: "E_CYCLE" });
    expect((await board.list()).total).toBe(0);
  });

  it("exports everything", async () => {
    await place.board.defineGate({ name: "review" });
    await place.board.import(read("beads.jsonl"), "beads");
    const all = await place.board.export();
    expect(all).toMatchObject({ schema_version: 1, gates: [{ name: "review" }] });
    expect(all.issues.map(({ id }) => id)).toEqual(["1", "2", "3", "4"]);
  });

  it("brings an export back on another board as it was, but for claims, and on its own changes nothing", async () => {
    const { board } = place;
    await board.defineGate({ name: "review", description: "read by somebody" });
    await board.defineGate({ name: "tests", command: ["true"], timeout: "90s" });
    await board.add({ title: "first", gates: ["review", "tests"], context: { a: 1 } });
    await board.add({ title: "second", dependencies: ["1"], priority: "high", labels: ["x"], state: "backlog" });
    await board.passGate("1", "review", { note: "looks right" });
    await board.runGate("1", "tests");
    const { token } = await board.claim("1");
    const text = JSON.stringify(await board.export());
    expect(await board.import(text, "holdfast")).toEqual({ issues: [], skipped: 2 });
    expect((await board.get("1")).claim).not.toBeNull();
    await board.release("1", { token });

    const other = await newPlace();
    try {
      const { issues, skipped } = await other.board.import(text, "holdfast");
      expect([issues.length, skipped]).toEqual([2, 0]);
      expect(lasting(await other.board.export())).toEqual(lasting(JSON.parse(text)));
      expect(await other.board.import(text, "holdfast")).toEqual({ issues: [], skipped: 2 });
      expect((await other.board.add({ title: "third" })).id).toBe("3");
      await expectSoundBoard(other.board);
    } finally {
      await other.close();
    }
  });

  // kills: import-over-another
  it("of an export whose id is another issue's here nothing comes in, and the message names it", async () => {
    const { board } = place;
    const exported = exportOf([{ id: "2" }, { id: "1" }], [{ name: "review" }]);
    await board.add({ title: "mine" });
    await expect(board.import(exported, "holdfast")).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
      message: expect.stringContaining('issue 1 is another one here ("mine")'),
    });
    expect(await board.export()).toMatchObject({ issues: [{ id: "1", title: "mine" }], gates: [] });
  });

  // kills: import-verdict-of-another
  it("a verdict under another gate of the same name counts as none, and a dependency on nothing is noted", async () => {
    const { board } = place;
    await board.defineGate({ name: "tests", command: ["false"] });
    const passed = { status: "passed", at: null, by: null, note: null };
    const issue = { id: "7", gates: { tests: passed, review: passed }, dependencies: ["8", "9"] };
    const gates = [{ name: "tests", command: ["true"] }, { name: "review" }];
    await board.import(exportOf([issue, { id: "9" }], gates), "holdfast");
    expect(await board.get("7")).toMatchObject({
      gates: { tests: { status: "pending" }, review: { status: "passed" } },
      dependencies: ["9"],
      context: { missing_dependencies: ["8"] },
    });
    expect((await board.gates()).map(({ command }) => command)).toEqual([null, ["false"]]);
  });

  it("what is no export of a board, is newer or has a cycle changes nothing", async () => {
    const { board } = place;
    const invalid = ["", "[]", "{}", '{"schema_version":1,"issues":[null],"gates":[]}', exportOf([], [null])];
    invalid.push(
      exportOf([{ id: "../1" }]),
      exportOf([{ id: "1" }, { id: "1" }]),
      exportOf([{ id: "1", labels: "x" }]),
    );
    invalid.push(exportOf([{ id: "1", title: "" }]), exportOf([], [{ name: "a/b" }]));
    for (const text of invalid)
      await expect(board.import(text, "holdfast"), text).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    const cycle = exportOf([
      { id: "1", dependencies: ["2"] },
      { id: "2", dependencies: ["1"] },
    ]);
    await expect(board.import(cycle, "holdfast")).rejects.toMatchObject({ code: "E_CYCLE" });
    const newer = exportOf([]).replace('"schema_version":1', '"schema_version":2');
    await expect(board.import(newer, "holdfast")).rejects.toMatchObject({ code: "E_FORMAT_UNSUPPORTED" });
    expect(await board.export()).toMatchObject({ issues: [], gates: [] });
  });
});

/** What an import keeps. */
function lasting({ issues, gates }: BoardExport): unknown {
  return { issues: issues.map((issue) => ({ ...issue, revision: 0, updated_at: "", claim: null })), gates };
}

function exportOf(issues: readonly object[], gates: readonly (object | null)[] = []): string {
  const issue = {
    title: "one",
    description: "",
    state: "ready",
    priority: "normal",
    labels: [],
    assignee: null,
    dependencies: [],
    gates: {},
    context: {},
    claim: null,
    created_at: "2026-01-31T12:00:00.000Z",
    created_by: "user:a",
    updated_at: "2026-01-31T12:00:00.000Z",
    revision: 3,
  };
  const gate = { kind: "manual", description: "", command: null, timeout_s: 600, created_at: "", created_by: "" };
  return JSON.stringify({
    schema_version: 1,
    issues: issues.map((each) => ({ ...issue, ...each })),
    gates: gates.map((each) => each && { ...gate, ...each }),
  });
}
