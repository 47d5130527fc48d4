import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Board } from "../../../src/features/board/board.js";
import { requireNoCycle } from "../../../src/features/board/dependencies.js";
import { readIndex } from "../../../src/features/board/index-file.js";
import { claimShortly, expectSoundBoard, newPlace, type Place } from "../../fixtures/board/board.fixture.js";
import { filesIn } from "../../fixtures/documents/documents.fixture.js";

describe("the board", () => {
  let place: Place;
  let board: Board;
  beforeEach(async () => {
    place = await newPlace();
    board = place.board;
  });
  afterEach(() => place.close());

  it("BOARD-1 is plain JSON in four kinds of files", async () => {
    await board.defineGate({ name: "review" });
    const issue = await board.add({ title: "Rename layers", labels: ["ui"], gates: ["review"], context: { pr: 7 } });
    expect(readdirSync(place.dir).sort()).toEqual(
      [".journal", "board.json", "events.jsonl", "gates.json", "index.json", "issues"].sort(),
    );
    const stored = JSON.parse(readFileSync(join(place.dir, "issues", "1.json"), "utf8"));
    expect(stored).toEqual({ schema_version: 1, ...issue });
    expect(JSON.parse(readFileSync(join(place.dir, "index.json"), "utf8"))).toMatchObject({
      count: 1,
      issues: [{ id: "1", title: "Rename layers", gates: { review: "pending" } }],
    });
  });

  it("BOARD-2 looking creates nothing, not even a folder", async () => {
    const before = filesIn(place.root);
    expect(await board.list()).toEqual({ issues: [], next: null, total: 0, unreadable: [] });
    expect(await board.next()).toBeNull();
    expect(await board.gates()).toEqual([]);
    await expect(board.get("1")).rejects.toMatchObject({ code: "E_NOT_FOUND" });
    await expect(board.update("1", { title: "x" })).rejects.toMatchObject({ code: "E_NOT_FOUND" });
    expect(filesIn(place.root)).toEqual(before);
  });

  it("BOARD-3 has the fields of an issue, and refuses what makes no sense before anything is written", async () => {
    for (const bad of [
      { title: "" },
      { title: "two\nlines" },
      { title: "x", state: "open" },
      { title: "x", priority: "P1" },
      { title: "x", labels: ["a,b"] },
      { title: "x", dependencies: ["../x"] },
      { title: "x", gates: ["no such"] },
      { title: "x", context: [] },
    ])
      await expect(board.add(bad as never), JSON.stringify(bad)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
    await expect(board.add({ title: "x", dependencies: ["99"] })).rejects.toMatchObject({ code: "E_NOT_FOUND" });
    await expect(board.add({ title: "x", dependencies: ["1"] }), "itself").rejects.toMatchObject({
      code: "E_NOT_FOUND",
    });
    await expect(board.add({ title: "x", gates: ["none"] })).rejects.toMatchObject({ code: "E_NOT_FOUND" });
    expect((await board.list()).total).toBe(0);
  });

  it("BOARD-3 an update changes no field that has a way of its own", async () => {
    await board.add({ title: "a" });
    for (const field of ["id", "dependencies", "gates", "claim", "revision"])
      await expect(board.update("1", { [field]: ["1"] }), field).rejects.toMatchObject({
        code: "E_INVALID_ARGUMENT",
        details: { field },
      });
  });

  it("BOARD-3 a cycle is refused, naming it", async () => {
    for (const title of ["a", "b", "c", "d"]) await board.add({ title });
    await board.addDependency("1", "2");
    await board.addDependency("2", "3");
    await board.addDependency("3", "4");
    const refused = board.addDependency("4", "1");
    await expect(refused).rejects.toMatchObject({ code: "E_CYCLE", details: { cycle: ["4", "1", "2", "3", "4"] } });
    await expect(board.addDependency("1", "1")).rejects.toMatchObject({
      code: "E_CYCLE",
      details: { cycle: ["1", "1"] },
    });
    await board.removeDependency("2", "3");
    await board.addDependency("4", "1");
    await expectSoundBoard(board);
  });

  it("BOARD-3 of a long cycle the message shows both ends, and the details all", () => {
    const next = (id: string): string[] => [String((Number(id) + 1) % 5_000)];
    const error = (() => {
      try {
        return requireNoCycle("0", "1", next);
      } catch (refused) {
        return refused;
      }
    })();
    expect(error).toMatchObject({
      code: "E_CYCLE",
      message: expect.stringMatching(/7 → \(4985 more\) → 4993 .* → 0 is/),
    });
    expect((error as { details: { cycle: unknown } }).details.cycle).toHaveLength(5_001);
  });

  it("BOARD-3 a revision that has moved on is E_REVISION_CONFLICT", async () => {
    await board.add({ title: "a" });
    await board.update("1", { title: "b" }, { ifRevision: 1 });
    await expect(board.update("1", { title: "c" }, { ifRevision: 1 })).rejects.toMatchObject({
      code: "E_REVISION_CONFLICT",
    });
  });

  // kills: board-context-merge
  it("BOARD-2 what several put into a context at once is all there", async () => {
    await board.add({ title: "a", context: { pr: 7 } });
    const other = (await place.open("agent:other")).board;
    await Promise.all([
      board.update("1", { addContext: { mine: 1 } }),
      other.update("1", { addContext: { theirs: 2 } }),
    ]);
    expect((await board.get("1")).context).toEqual({ pr: 7, mine: 1, theirs: 2 });
    const large = { words: "x".repeat(200_000) };
    await board.update("1", { addContext: large });
    await expect(board.update("1", { addContext: { more: large.words } })).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
    });
  });

  // kills: board-release-done
  it("BOARD-4 an issue is not done before its dependencies and gates, and the refusal lists them", async () => {
    await board.defineGate({ name: "review" });
    await board.defineGate({ name: "tests", command: ["true"] });
    await board.add({ title: "first" });
    await board.add({ title: "second", dependencies: ["1"], gates: ["review", "tests"] });
    const blocked = {
      code: "E_GATE_BLOCKED",
      details: {
        dependencies: ["1"],
        gates: [
          { gate: "review", status: "pending" },
          { gate: "tests", status: "pending" },
        ],
      },
    };
    await expect(board.close("2")).rejects.toMatchObject(blocked);
    await expect(board.update("2", { state: "done" })).rejects.toMatchObject(blocked);
    const { token } = await board.claim("2");
    await expect(board.release("2", { token, state: "done" })).rejects.toMatchObject(blocked);
    expect(await board.release("2", { token, patch: { addLabels: ["half"] } })).toMatchObject({
      state: "ready",
      labels: ["half"],
    });
    await board.close("1");
    await board.passGate("2", "review", { note: "looks right" });
    await expect(board.passGate("2", "tests")).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    await expect(board.close("2")).rejects.toMatchObject({ details: { dependencies: [], gates: [{ gate: "tests" }] } });
    await board.runGate("2", "tests");
    expect(await board.close("2")).toMatchObject({ state: "done" });
    await expectSoundBoard(board);
  });

  it("BOARD-4 an automatic gate's verdict is its command's exit code; the output is kept", async () => {
    await board.defineGate({
      name: "tests",
      command: ["sh", "-c", 'echo "issue $HOLDFAST_ISSUE"; echo bad >&2; exit 3'],
    });
    await board.defineGate({ name: "missing", command: ["/no/such/program"] });
    await board.add({ title: "a", gates: ["tests", "missing"] });
    const { run, issue } = await board.runGate("1", "tests");
    expect(run).toMatchObject({ status: "failed", exit_code: 3, timed_out: false });
    expect(run.output.split("\n").sort()).toEqual(["", "bad", "issue 1"]);
    expect(issue.gates.tests).toMatchObject({ status: "failed", by: "agent:test" });
    expect(await board.lastRun("1", "tests")).toEqual(run);
    expect((await board.runGate("1", "missing")).run).toMatchObject({ status: "failed", exit_code: null });
  });

  // kills: board-gate-claim
  it("BOARD-4 a gate's command has a time limit, its whole group ends with it, and a claim is kept alive meanwhile", {
    timeout: 300_000,
  }, async () => {
    const mark = join(place.root, "still-running");
    const command = ["sh", "-c", `(sleep 60; touch ${mark}) & sleep 60`];
    await board.defineGate({ name: "slow", command, timeout: "1s" });
    await board.add({ title: "a", gates: ["slow"] });
    const { token } = await board.claim("1", { ttl: "1s" });
    const { run } = await board.runGate("1", "slow", { token });
    expect(run).toMatchObject({ status: "failed", timed_out: true });
  });

  // kills: board-gate-signal
  it("BOARD-4 a gate's command ends with whoever runs it, and nothing that outlives it is waited for", async () => {
    const pid = join(place.root, "pid");
    await board.defineGate({
      name: "slow",
      command: ["sh", "-c", `echo $$ > ${pid}.new; mv ${pid}.new ${pid}; sleep 60`],
    });
    await board.defineGate({ name: "stray", command: ["sh", "-c", "setsid sleep 5 & echo said"] });
    await board.add({ title: "a", gates: ["slow", "stray"] });
    const stop = new AbortController();
    const refused = expect(board.runGate("1", "slow", { signal: stop.signal })).rejects.toThrow("enough");
    await expect.poll(() => existsSync(pid), { timeout: 60_000 }).toBe(true);
    stop.abort(new Error("enough"));
    await expect.poll(() => existsSync(`/proc/${readFileSync(pid, "utf8").trim()}`), { timeout: 10_000 }).toBe(false);
    await refused;
    expect((await board.get("1")).gates.slow).toMatchObject({ status: "pending" });
    const pipes = (): number => process.getActiveResourcesInfo().filter((name) => name === "PipeWrap").length;
    const before = pipes();
    expect((await board.runGate("1", "stray")).run).toMatchObject({ status: "passed", output: "said\n" });
    await expect.poll(pipes).toBeLessThanOrEqual(before);
  });

  it("BOARD-4 a gate's command may itself work on the board: no lock is held while it runs", {
    timeout: 300_000,
  }, async () => {
    const script = `
      import { openHoldfast } from ${JSON.stringify(new URL("../../../dist/index.js", import.meta.url).href)};
      import { openBoard } from ${JSON.stringify(new URL("../../../dist/features/board/board.js", import.meta.url).href)};
      const holdfast = await openHoldfast({ root: ${JSON.stringify(place.root)}, owner: "agent:gate" });
      await openBoard(holdfast, ${JSON.stringify(place.dir)}).update("1", { addLabels: ["from-the-gate"] });
      await holdfast.close();`;
    await board.defineGate({ name: "nested", command: [process.execPath, "--input-type=module", "-e", script] });
    await board.add({ title: "a", gates: ["nested"] });
    expect((await board.runGate("1", "nested")).run).toMatchObject({ status: "passed", output: "" });
    expect(await board.get("1")).toMatchObject({ labels: ["from-the-gate"], gates: { nested: { status: "passed" } } });
  });

  // kills: board-free-check
  it("BOARD-5 a claimed issue is changed only by its claimer, an unclaimed one by anyone", async () => {
    await board.add({ title: "a" });
    const other = (await place.open("agent:other")).board;
    const { token, issue } = await board.claim("1");
    expect(issue).toMatchObject({ state: "in_progress", assignee: "agent:test", claim: { owner: "agent:test" } });
    const refused = { code: "E_LOCK_CONFLICT", details: { contention: { owner: "agent:test" } } };
    await expect(other.update("1", { title: "b" })).rejects.toMatchObject(refused);
    await expect(other.claim("1")).rejects.toMatchObject(refused);
    await expect(board.update("1", { title: "b" }), "without the token everybody is a stranger").rejects.toMatchObject(
      refused,
    );
    await expect(other.update("1", { title: "b" }, { token: "wrong" })).rejects.toMatchObject({
      code: "E_LOCK_NOT_HELD",
    });
    expect(await board.update("1", { title: "b" }, { token })).toMatchObject({ title: "b" });
    await board.release("1", { token });
    expect(await other.update("1", { title: "c" })).toMatchObject({ state: "ready", assignee: null, claim: null });
    await expectSoundBoard(board);
  });

  it("BOARD-5 a lapsed claim cannot write and is not revived by use; use renews one that has not lapsed", {
    timeout: 300_000,
  }, async () => {
    const mark = join(place.root, "begun");
    await board.defineGate({ name: "marks", command: ["touch", mark] });
    await board.add({ title: "a", gates: ["marks"] });
    const kept = await board.claim("1", { ttl: "1h" });
    const before = (await place.holdfast.inspect("issue:1")).grants[0]?.lease_expires_at ?? "";
    await new Promise((go) => setTimeout(go, 20));
    await board.update("1", { title: "b" }, { token: kept.token });
    const after = (await place.holdfast.inspect("issue:1")).grants[0]?.lease_expires_at ?? "";
    expect(Date.parse(after)).toBeGreaterThan(Date.parse(before));
    await board.release("1", { token: kept.token });
    const { token } = await claimShortly(board, "1");
    while ((await place.holdfast.inspect("issue:1")).state !== "expired")
      await new Promise((go) => setTimeout(go, 100));
    const refused = { code: "E_LOCK_EXPIRED", next: ["holdfast issue claim 1", expect.any(String)] };
    for (let round = 0; round < 2; round += 1)
      await expect(board.update("1", { title: "late" }, { token })).rejects.toMatchObject(refused);
    await expect(board.runGate("1", "marks", { token })).rejects.toMatchObject(refused);
    expect(existsSync(mark), "nor does it begin to run anything").toBe(false);
    expect(await board.get("1")).toMatchObject({ title: "b" });
    expect(await board.next(), "work of a lapsed claim is offered again").toMatchObject({ id: "1" });
    const again = await (await place.open("agent:heir")).board.claimNext();
    expect(again?.issue).toMatchObject({ id: "1", assignee: "agent:heir" });
    await expect(board.update("1", { title: "late" }, { token })).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
  });

  // kills: board-dead-claimer
  it("BOARD-5 next offers the work of a claimer whose process has died, also while the claim's time runs", async () => {
    const { board: heir } = await place.open("agent:heir");
    const claimer = spawn(process.execPath, ["-e", "process.stdin.resume()"]);
    await board.add({ title: "a" });
    await board.claim("1", { ttl: "1h", pid: claimer.pid ?? 0 });
    expect(await heir.next()).toBeNull();
    expect(await heir.claimNext()).toBeNull();
    claimer.kill("SIGKILL");
    await once(claimer, "exit");
    expect(await heir.next()).toMatchObject({ id: "1" });
    expect((await heir.claimNext())?.issue).toMatchObject({ id: "1", assignee: "agent:heir" });
  });

  it("BOARD-5 next takes the most urgent issue that can be begun", async () => {
    await board.add({ title: "later", priority: "low" });
    await board.add({ title: "urgent but blocked", priority: "critical", dependencies: ["1"] });
    await board.add({ title: "soon", priority: "high", labels: ["ui"] });
    await board.add({ title: "not yet", priority: "critical", state: "backlog" });
    expect((await board.list({ ready: true, sort: "priority" })).issues.map(({ id }) => id)).toEqual(["3", "1"]);
    const first = await board.claimNext();
    expect(first?.issue.id).toBe("3");
    expect(await board.claimNext({ labels: ["ui"] })).toBeNull();
    const second = await board.claimNext();
    await board.close("1", { token: second?.token ?? "" });
    expect((await place.holdfast.inspect("issue:1")).state, "closing lets the claim go").toBe("free");
    expect((await board.claimNext())?.issue.id).toBe("2");
    expect(await board.claimNext()).toBeNull();
  });

  it("BOARD-6 every change is one event with a number, and nothing else is", async () => {
    await board.add({ title: "a" });
    await board.update("1", { title: "b" });
    await board.update("1", { title: "b" });
    const { token } = await board.claim("1");
    await board.close("1", { token });
    expect((await board.events()).map(({ seq, event, changes }) => [seq, event, Object.keys(changes)])).toMatchObject([
      [1, "created", expect.arrayContaining(["title", "state"])],
      [2, "updated", ["title"]],
      [3, "claimed", ["state", "assignee", "claim"]],
      [4, "closed", ["state", "claim"]],
    ]);
    expect(await board.events({ after: 3 })).toHaveLength(1);
  });

  it("filters, sorts and pages", async () => {
    await board.add({ title: "Alpha", labels: ["x"], description: "about snow" });
    await board.add({ title: "Beta", labels: ["x", "y"], assignee: "agent:b", state: "backlog" });
    for (let at = 3; at <= 12; at += 1) await board.add({ title: `Number ${at}`, priority: "low" });
    const ids = async (query: Parameters<Board["list"]>[0]) => (await board.list(query)).issues.map(({ id }) => id);
    expect(await ids({ labels: ["x"] })).toEqual(["1", "2"]);
    expect(await ids({ labels: ["x", "y"] })).toEqual(["2"]);
    expect(await ids({ assignee: "agent:b" })).toEqual(["2"]);
    expect(await ids({ state: ["backlog"] })).toEqual(["2"]);
    expect(await ids({ text: "SNOW" })).toEqual(["1"]);
    expect(await ids({ text: "number 1" })).toEqual(["10", "11", "12"]);
    const first = await board.list({ limit: 5 });
    expect(first).toMatchObject({ total: 12, next: "5" });
    const rest = await board.list({ limit: 100, after: first.next ?? "" });
    expect(rest.issues.map(({ id }) => id)).toEqual(["6", "7", "8", "9", "10", "11", "12"]);
    expect(rest.next).toBeNull();
    await board.update("5", { state: "backlog" });
    const behind = await board.list({ state: ["ready"], after: "5", limit: 2 });
    expect(
      behind.issues.map(({ id }) => id),
      "its place is known, also when the list has it no more",
    ).toEqual(["6", "7"]);
    await expect(board.list({ after: "99" })).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });

  it("waits for a state and for a gate", async () => {
    await board.defineGate({ name: "review" });
    await board.add({ title: "a", gates: ["review"] });
    const other = (await place.open("agent:other")).board;
    const gate = other.waitForGate("1", "review");
    const closed = other.wait("1");
    await board.failGate("1", "review");
    expect(await gate).toMatchObject({ status: "failed", by: "agent:test" });
    await board.passGate("1", "review");
    await board.close("1");
    expect(await closed).toMatchObject({ state: "done" });
    await board.add({ title: "b" });
    await expect(board.wait("2", [], { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      name: "TimeoutError",
    });
    await expect(board.waitForGate("2", "review")).rejects.toMatchObject({ code: "E_NOT_FOUND" });
  });

  // kills: wait-by-revision
  it("hears of a state that git has brought, under a revision that was seen before", async () => {
    const { revision } = await board.add({ title: "a" });
    const closed = board.wait("1");
    const path = join(place.dir, "issues", "1.json");
    await new Promise((resolve) => setTimeout(resolve, 50)); // It looks at once; sooner would show nothing.
    writeFileSync(path, readFileSync(path, "utf8").replace('"state": "ready"', '"state": "done"'));
    expect(await closed).toMatchObject({ revision, state: "done" });
  });

  it.each([
    ["missing", (path: string) => rmSync(path)],
    ["torn", (path: string) => writeFileSync(path, '{"schema_version":1,"rev')],
    ["no picture", (path: string) => writeFileSync(path, "null")],
    [
      "lacking fields",
      (path: string) => writeFileSync(path, readFileSync(path, "utf8").replaceAll('"labels":[],', "")),
    ],
    [
      "of another log",
      (path: string) =>
        writeFileSync(path, '{"schema_version":1,"revision":9,"seq":9,"events_bytes":3,"count":0,"issues":[]}'),
    ],
  ])("BOARD-2 an index that is %s is not believed, and made again", async (_, spoil) => {
    await board.add({ title: "a" });
    await board.add({ title: "b" });
    spoil(join(place.dir, "index.json"));
    expect((await board.list()).issues.map(({ title }) => title)).toEqual(["a", "b"]);
    await board.add({ title: "c" });
    expect(JSON.parse(readFileSync(join(place.dir, "index.json"), "utf8")).count).toBe(3);
    await expectSoundBoard(board);
  });

  it.each(['"changes":null', '"changes":{"gates":{"x":null}}', '"changes":{"title":7}'])(
    "an event that others have added (%s) breaks no list",
    async (changes) => {
      await board.add({ title: "a" });
      const event = `{"seq":2,"event":"created","id":"7","revision":1,${changes}}\n`;
      writeFileSync(join(place.dir, "events.jsonl"), event, { flag: "a" });
      expect((await board.list()).issues.map(({ id }) => id)).toEqual(["1"]);
    },
  );

  it("BOARD-1 the index is believed also behind an event as long as a description may be", async () => {
    await board.add({ title: "a", description: "x".repeat(200_000) });
    expect(readIndex(place.dir)?.size).toBe(1);
  });

  // kills: board-file-name
  it("BOARD-5 a copied file is an issue of its own: what is written to it is not written to the other, past its claim", async () => {
    await board.add({ title: "a" });
    await board.claim("1");
    copyFileSync(join(place.dir, "issues", "1.json"), join(place.dir, "issues", "2.json"));
    const other = (await place.open("agent:other")).board;
    expect(await other.update("2", { title: "b" })).toMatchObject({ id: "2", title: "b" });
    expect(await board.get("1")).toMatchObject({ title: "a", revision: 2 });
  });

  it("BOARD-8 a file that is no issue is reported, naming what is wrong, and hides no other", async () => {
    await board.add({ title: "a" });
    const path = join(place.dir, "issues", "2.json");
    writeFileSync(path, '{"schema_version":1,"revision":1,"id":"2","title":"b"}');
    rmSync(join(place.dir, "index.json"));
    expect((await board.list()).issues.map(({ id }) => id)).toEqual(["1"]);
    for (const refused of [board.get("2"), board.update("2", { title: "c" }), board.claim("2")])
      await expect(refused).rejects.toMatchObject({
        code: "E_STORE_CORRUPT",
        details: { path, why: expect.stringContaining("state") },
      });
    expect(readFileSync(path, "utf8")).toContain('"b"');
  });

  // kills: board-look-moves, board-gates-look-moves
  it("BOARD-8 an issue or gates that cannot be read are reported, left for who mends them until they are written, and hide no other", async () => {
    await board.defineGate({ name: "review" });
    await board.add({ title: "a" });
    await board.add({ title: "b" });
    await board.add({ title: "needs a", dependencies: ["1"] });
    const paths = ["issues/1.json", "gates.json"].map((name) => join(place.dir, name));
    for (const path of paths) writeFileSync(path, "<<<<<<< ours");
    expect((await board.list()).total).toBe(3);
    expect(await board.rebuildIndex()).toBe(2);
    for (const refused of [
      board.get("1"),
      board.addDependency("2", "1"),
      board.addDependency("2", "3"),
      board.add({ title: "x", dependencies: ["1"] }),
      board.close("3"),
      board.add({ title: "x", gates: ["review"] }),
    ])
      await expect(refused).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(["<<<<<<< ours", "<<<<<<< ours"]);
    expect(await board.add({ title: "c" })).toMatchObject({ id: "4" });
    for (const change of [() => board.update("1", { title: "mine" }), () => board.defineGate({ name: "tests" })]) {
      const { code, details } = await change().catch((error) => error);
      expect([code, readFileSync(details.quarantined, "utf8")]).toEqual(["E_STORE_CORRUPT", "<<<<<<< ours"]);
    }
  });

  // kills: board-index-files
  it("BOARD-1 issues that a merge or a person has brought, renamed or taken are seen, though the index fits its events", async () => {
    for (const title of ["a", "b"]) await board.add({ title });
    copyFileSync(join(place.dir, "issues", "1.json"), join(place.dir, "issues", "40.json"));
    renameSync(join(place.dir, "issues", "2.json"), join(place.dir, "issues", "50.json"));
    expect(readIndex(place.dir)?.size).toBe(2);
    expect((await board.list()).issues.map(({ id, title }) => id + title)).toEqual(["1a", "40a", "50b"]);
    rmSync(join(place.dir, "issues", "1.json"));
    expect(await board.claimNext()).toMatchObject({ issue: { id: "40" } });
  });

  it("BOARD-8 an issue with a conflict of git is told of by lists, left where it is, and listed again when it is mended", async () => {
    for (const title of ["a", "b"]) await board.add({ title });
    const path = join(place.dir, "issues", "1.json");
    const text = readFileSync(path, "utf8");
    const conflict = `<<<<<<< HEAD\n${text}=======\n${text}>>>>>>> theirs\n`;
    writeFileSync(path, conflict);
    for (const name of ["index", "board"]) rmSync(join(place.dir, `${name}.json`));
    await expect(board.get("1")).rejects.toMatchObject({ details: { why: "git has left a conflict in it" } });
    expect(await board.add({ title: "c" })).toMatchObject({ id: "3" });
    expect(await board.list()).toMatchObject({ issues: [{ id: "2" }, { id: "3" }], total: 2, unreadable: ["1"] });
    expect(readFileSync(path, "utf8")).toBe(conflict);
    writeFileSync(path, text);
    expect(await board.list()).toMatchObject({ issues: [{ id: "1" }, {}, {}], total: 3, unreadable: [] });
  });

  // kills: board-unreadable-next
  it.each([
    ["1", "<<<<<<<"],
    ["2", "<<<<<<<"],
    ["2", '{"schema_version":1,"revision":1}'],
  ])("BOARD-5 an issue that cannot be read (%s: %s) keeps nobody from the next one", async (id, garbage) => {
    for (const title of ["a", "needs a", "c"]) await board.add({ title });
    await board.addDependency("2", "1");
    await board.close("1");
    const path = join(place.dir, "issues", `${id}.json`);
    writeFileSync(path, garbage);
    expect(await board.claimNext()).toMatchObject({ issue: { id: "3" } });
    expect(readFileSync(path, "utf8")).toBe(garbage);
  });

  // kills: board-gate-shape
  it("a registry of gates that makes no sense is refused by name and left as it is", async () => {
    await board.defineGate({ name: "tests" });
    const path = join(place.dir, "gates.json");
    const text = readFileSync(path, "utf8").replace(/"tests": \{[^}]*\}/, '"tests": null');
    writeFileSync(path, text);
    const refused = { code: "E_STORE_CORRUPT", message: expect.stringContaining("gates.json") };
    await expect(board.gates()).rejects.toMatchObject(refused);
    await expect(board.defineGate({ name: "other" })).rejects.toMatchObject(refused);
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("no id is given twice, also when the counter knows nothing of an issue", async () => {
    await board.add({ title: "a" });
    const text = readFileSync(join(place.dir, "issues", "1.json"), "utf8");
    writeFileSync(join(place.dir, "issues", "2.json"), text.replace('"id": "1"', '"id": "2"'));
    expect((await board.add({ title: "b" })).id).toBe("3");
  });
});
