/** The lock commands as scripts see them: shapes, exit codes, one document whatever happens. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ended, type Json, linesOf, openScene, type Scene } from "../../fixtures/command.fixture.js";

const RECORD = [
  "schema_version",
  "lock_id",
  "resource",
  "mode",
  "owner",
  "holder_id",
  "nonce",
  "created_at",
  "last_renewed_at",
  "lease_expires_at",
  "lease_duration_s",
  "fencing_token",
  "metadata",
];
const STATUS = ["resource", "state", "grants", "waiters", "fencing_token", "profile", "permits"];

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

async function inLine(key: string, count: number): Promise<void> {
  await vi.waitUntil(async () => (await scene.inspect(key)).waiters.length === count, 240_000);
}

function keys(value: Json): string[] {
  return Object.keys(value);
}

describe("CLI-2: shapes", () => {
  it("lock acquire, status, renew, release", async () => {
    const words = [
      "lock",
      "acquire",
      "shape:a",
      "shape:b",
      "--ttl",
      "10m",
      "--meta",
      "why=test",
      "--owner",
      "agent:one",
    ];
    const taken = await scene.json(words);
    expect([taken.ok, taken.command, taken.exit]).toEqual([true, "lock acquire", 0]);
    const [a, b] = taken.data.grants;
    expect(keys(a)).toEqual([...RECORD, "lease_token"]);
    expect([a.resource, b.resource, a.owner, a.mode, a.lease_duration_s]).toEqual([
      "shape:a",
      "shape:b",
      "agent:one",
      "write",
      600,
    ]);
    expect(a.metadata).toEqual({ why: "test" });

    const [status, list] = await Promise.all([
      scene.data(["lock", "status", "shape:a"]),
      scene.data(["lock", "list", "--prefix", "shape:b"]),
    ]);
    expect(keys(status)).toEqual(STATUS);
    expect([status.resource, status.state, status.waiters, status.fencing_token, status.profile]).toEqual([
      "shape:a",
      "held",
      [],
      a.fencing_token,
      "default",
    ]);
    expect(keys(status.grants[0])).toEqual(RECORD);
    expect(keys(list)).toEqual(["grants", "next"]);
    expect(list).toMatchObject({ grants: [{ resource: "shape:b" }], next: null });

    const renewed = await scene.data(["lock", "renew", "shape:b", "shape:a", "--owner", "agent:one", "--ttl", "1h"]);
    expect(renewed.grants.map((grant: Json) => [grant.resource, grant.lease_duration_s])).toEqual([
      ["shape:b", 3600],
      ["shape:a", 3600],
    ]);
    const verified = await scene.data(["lock", "verify", "shape:a/below", "--fence", String(a.fencing_token)]);
    expect(keys(verified.grant)).toEqual(RECORD);
    const released = await scene.data(["lock", "release", "shape:a", "shape:b", "--owner", "agent:one"]);
    expect(released.grants.map((grant: Json) => grant.lock_id)).toEqual([a.lock_id, b.lock_id]);
    expect(await scene.data(["lock", "status", "shape:a"])).toMatchObject({ state: "free", grants: [] });
  });

  it("LOCK-9: lock upgrade and downgrade", async () => {
    const { grants } = await scene.data(["lock", "acquire", "convert", "--mode", "upgradeable"]);
    const up = await scene.data(["lock", "upgrade", "convert", "--wait", "20s"]);
    expect(up.grants[0].mode).toBe("write");
    expect(up.grants[0].fencing_token).toBeGreaterThan(grants[0].fencing_token);
    const down = await scene.data(["lock", "downgrade", "convert"]);
    expect([down.grants[0].mode, down.grants[0].fencing_token]).toEqual(["read", up.grants[0].fencing_token]);
    expect(keys(down.grants[0])).toEqual(RECORD);
  });

  it("LOCK-9: a lock that has the mode already is told as what it is, beside those that were converted", async () => {
    await scene.data(["lock", "acquire", "mixed/read", "--mode", "read"]);
    await scene.data(["lock", "acquire", "mixed/write"]);
    const again = await scene.run(["lock", "downgrade", "mixed/read"]);
    expect([again.exit, again.stdout.split("\n")[0]]).toEqual([0, "a read lock already"]);
    const [written] = (await scene.run(["lock", "upgrade", "mixed/write"])).stdout.split("\n");
    expect(written).toBe("a write lock already");
    const both = await scene.run(["lock", "downgrade", "mixed/read", "mixed/write"]);
    const heads = both.stdout.split("\n").filter((line) => line !== "" && !line.startsWith("  "));
    expect(heads).toEqual(["downgraded", "a read lock already"]);
    expect(both.stdout.indexOf("mixed/write")).toBeLessThan(both.stdout.indexOf("mixed/read"));
    const { grants } = await scene.data(["lock", "downgrade", "mixed/read", "mixed/write"]);
    expect(grants.map((grant: Json) => [grant.resource, grant.mode])).toEqual([
      ["mixed/read", "read"],
      ["mixed/write", "read"],
    ]);
  });

  it("lock list goes on where a page ended", async () => {
    await scene.data(["lock", "acquire", "page/a", "page/b", "page/c"]);
    const first = await scene.data(["lock", "list", "--prefix", "page", "--limit", "2"]);
    expect(first.grants.map((grant: Json) => grant.resource)).toEqual(["page/a", "page/b"]);
    const second = await scene.data(["lock", "list", "--prefix", "page", "--limit", "2", "--after", first.next]);
    expect(second).toMatchObject({ grants: [{ resource: "page/c" }], next: null });
  });

  it("LOCK-13: explain shows holders, the line, who waits for whom, and what happened", async () => {
    await scene.data(["lock", "acquire", "why/here", "--owner", "agent:holder"]);
    const first = scene.start(["lock", "acquire", "why", "--wait", "1h", "--owner", "agent:first"]);
    await inLine("why", 1);
    const second = scene.start([
      "lock",
      "acquire",
      "why/here",
      "--mode",
      "read",
      "--wait",
      "1h",
      "--owner",
      "agent:second",
    ]);
    await inLine("why", 2);
    // A waiter that a busy machine lets sleep loses its place and takes another: what is shown must fit, not who is first.
    const found = await vi.waitUntil(async () => {
      const seen = await scene.data(["explain", "why/here"]);
      return seen.line.length === 2 && seen;
    }, 240_000);
    expect(keys(found)).toEqual(["resource", "status", "holders", "line", "history"]);
    expect(found.holders[0]).toMatchObject({ owner: "agent:holder", relation: "here", state: "held" });
    expect(found.holders[0].lease_remaining_s).toBeGreaterThan(0);
    const [one, two] = found.line;
    expect([one.owner, two.owner].sort()).toEqual(["agent:first", "agent:second"]);
    expect([one.position, two.position]).toEqual([1, 2]);
    expect(one.waits_for).toMatchObject([{ kind: "holder", owner: "agent:holder", resource: "why/here" }]);
    expect(two.waits_for).toMatchObject([
      { kind: "holder", owner: "agent:holder" },
      { kind: "waiter", owner: one.owner, id: one.ticket_id },
    ]);
    expect(found.history.map((entry: Json) => entry.event)).toEqual(["granted"]);

    // LOCK-12: Ctrl-C gives the place back.
    const outcomes = [ended(first), ended(second)];
    first.kill("SIGINT");
    second.kill("SIGTERM");
    expect((await Promise.all(outcomes)).map(({ exit }) => exit)).toEqual([130, 143]);
    expect((await scene.inspect("why")).waiters).toEqual([]);
  });

  it("explain names a circle of two agents that wait for each other's locks", async () => {
    await scene.data(["lock", "acquire", "ring/a", "--owner", "agent:a"]);
    await scene.data(["lock", "acquire", "circle/b", "--owner", "agent:b"]);
    const waiting = [
      scene.start(["lock", "acquire", "circle/b", "--wait", "1h", "--owner", "agent:a"]),
      scene.start(["lock", "acquire", "ring/a", "--wait", "1h", "--owner", "agent:b"]),
    ];
    const found = await vi.waitUntil(async () => {
      const seen = await scene.data(["explain", "ring/a"]);
      return seen.circles !== undefined && seen;
    }, 240_000);
    const members = found.circles[0].map((one: Json) => `${one.owner} ${one.holds.resource} ${one.waits_for}`);
    expect(members.sort()).toEqual(["agent:a ring/a circle/b", "agent:b circle/b ring/a"]);
    const { stdout } = await scene.run(["explain", "ring/a"]);
    expect(stdout).toContain("agent:a holds ring/a and waits for circle/b");
    // No process holds a detached lock, so neither is refused: a person may have a second shell.
    expect(waiting.map(({ exitCode }) => exitCode)).toEqual([null, null]);
    const outcomes = waiting.map(ended);
    for (const one of waiting) one.kill("SIGINT");
    await Promise.all(outcomes);
  });

  it("lock watch KEY and lock watch write JSON lines", async () => {
    const one = scene.start(["lock", "watch", "seen", "--json"]);
    const all = scene.start(["lock", "watch", "--json"]);
    const [lines, rows] = [linesOf(one), linesOf(all)];
    const first = JSON.parse((await lines.next()).value ?? "");
    expect([keys(first), first.state]).toEqual([STATUS, "free"]);
    expect(keys(JSON.parse((await rows.next()).value ?? ""))).toEqual(["grants"]);
    await scene.data(["lock", "acquire", "seen/below"]);
    expect(JSON.parse((await lines.next()).value ?? "")).toMatchObject({ resource: "seen", state: "held" });
    const changed = JSON.parse((await rows.next()).value ?? "");
    expect(changed.grants.some((grant: Json) => grant.resource === "seen/below")).toBe(true);
    const ends = [ended(one), ended(all)];
    one.kill("SIGINT");
    all.kill("SIGINT");
    expect((await Promise.all(ends)).map(({ exit }) => exit)).toEqual([0, 0]);
  });
});

describe("CLI-4: exit codes", () => {
  it("LOCK-14: 75 with the contention report, for conflict, timeout and lock wait", async () => {
    await scene.data(["lock", "acquire", "busy", "--owner", "agent:busy"]);
    const [conflict, timeout, wait] = await Promise.all([
      scene.json(["lock", "acquire", "busy", "--wait", "0"]),
      scene.json(["lock", "acquire", "busy/below", "--wait", "50ms", "--owner", "agent:x"]),
      scene.json(["lock", "wait", "busy", "--wait", "50ms"]),
    ]);
    expect([conflict.exit, conflict.error.code]).toEqual([75, "E_LOCK_CONFLICT"]);
    expect([timeout.exit, timeout.error.code]).toEqual([75, "E_LOCK_TIMEOUT"]);
    expect([wait.exit, wait.error.code]).toEqual([75, "E_LOCK_TIMEOUT"]);
    expect(keys(conflict.error)).toEqual(["code", "message", "retryable", "details", "next"]);
    for (const { error } of [conflict, timeout, wait])
      expect(error.details.contention).toMatchObject({ type: "LOCK_CONTENTION", owner: "agent:busy", mode: "write" });
    expect(conflict.error.next).toEqual(["holdfast lock acquire busy --wait 2m", "holdfast explain busy"]);
  });

  it("what to type next says the workspace and the owner that were typed: elsewhere it would be about others", async () => {
    const cwd = scene.dir;
    await scene.data(["lock", "acquire", "far", "--owner", "agent:far"]);
    const around = ["--root", scene.root, "--owner", "agent:near"];
    const refused = await scene.json(["lock", "acquire", "far", "--wait=0", ...around], { cwd });
    expect(refused.error.next).toEqual([
      `holdfast lock acquire far ${around.join(" ")} --wait 2m`,
      `holdfast --root ${scene.root} explain far`,
    ]);
    const free = await scene.json(["lock", "steal", "nobody", ...around], { cwd });
    expect(free.error.next).toEqual([`holdfast ${around.join(" ")} lock acquire nobody`]);
    for (const step of [refused.error.next[1], free.error.next[0]])
      expect((await scene.run(step.split(" ").slice(1), { cwd })).exit, step).toBe(0);
    const unknown = await scene.json(["issue", "show", "99", `--root=${scene.root}`], { cwd });
    expect(unknown.error.next).toEqual([`holdfast --root ${scene.root} issue list`]);
  });

  it("64, 77, 81, 82, 89, and the shapes of break and steal", async () => {
    const { grants } = await scene.data(["lock", "acquire", "codes"]);
    const fence = String(grants[0].fencing_token + 1);
    const codes = await Promise.all(
      [
        ["lock", "acquire", "bad//key"],
        ["lock", "acquire", "codes", "--ttl", "3ms"],
        ["lock", "break", "codes", "--reason", "test", "--owner", "agent:no"],
        ["lock", "verify", "codes", "--fence", fence],
        ["lock", "verify", "free", "--fence", "1"],
        ["lock", "release", "codes", "--owner", "agent:other"],
        ["lock", "steal", "free"],
        ["lock", "break", "free", "--reason", "test"],
        ["lock", "steal", "codes"],
      ].map(async (words) => {
        const { exit, error } = await scene.json(words);
        return [exit, error.code];
      }),
    );
    expect(codes).toEqual([
      [64, "E_INVALID_ARGUMENT"],
      [64, "E_INVALID_ARGUMENT"],
      [77, "E_FORBIDDEN"],
      [82, "E_FENCING_MISMATCH"],
      [81, "E_LOCK_NOT_HELD"],
      [81, "E_LOCK_NOT_HELD"],
      [89, "E_NOT_FOUND"],
      [89, "E_NOT_FOUND"],
      [75, "E_LOCK_CONFLICT"],
    ]);
    const broken = await scene.data(["lock", "break", "codes", "--reason", "test"]);
    expect(broken.grants.map(keys)).toEqual([RECORD]);
  });

  it("what to type after a steal that was refused names the keys", async () => {
    await scene.data(["lock", "acquire", "above/held"]);
    const [free, below, agents] = await Promise.all([
      scene.json(["lock", "steal", "free"]),
      scene.json(["lock", "steal", "above"]),
      scene.json(["lock", "steal", "above", "--owner", "agent:7"]),
    ]);
    expect(free.error).toMatchObject({ details: { resource: "free" }, next: ["holdfast lock acquire free"] });
    expect(below.error.next).toEqual([
      "holdfast lock wait above --wait 2m",
      'holdfast lock break above/held --reason "…"',
    ]);
    expect(agents.error.next).toEqual([
      "holdfast lock wait above --wait 2m",
      'Only a person may end it before its time. Ask one for: holdfast lock break above/held --reason "…"',
    ]);
  });

  it("80 for a lease that is over, and then it can be stolen", async () => {
    const { grants } = await scene.data(["lock", "acquire", "short", "--ttl", "1s"]);
    await vi.waitUntil(async () => (await scene.inspect("short")).state === "expired", 240_000);
    const [renewed, verified] = await Promise.all([
      scene.json(["lock", "renew", "short"]),
      scene.json(["lock", "verify", "short", "--fence", String(grants[0].fencing_token)]),
    ]);
    expect([renewed.exit, renewed.error.code, verified.exit]).toEqual([80, "E_LOCK_EXPIRED", 80]);
    expect(renewed.error.next[0]).toBe("holdfast lock acquire short");
    const stolen = await scene.data(["lock", "steal", "short", "--owner", "agent:thief"]);
    expect(keys(stolen.grants[0])).toEqual([...RECORD, "lease_token"]);
    expect(stolen.grants[0].fencing_token).toBeGreaterThan(grants[0].fencing_token);
  });
});

describe("CLI-5: for people", () => {
  it("a refusal says who holds it, where, since when, how long still, and what to type next", async () => {
    await scene.run(["lock", "acquire", "people", "--owner", "agent:claude"]);
    const { exit, stdout, stderr } = await scene.run(["lock", "acquire", "people", "--wait", "0"]);
    expect([exit, stdout]).toEqual([75, ""]);
    expect(stderr).toMatch(
      /^holdfast: people is not free\n {2}held by {2}agent:claude \(write\)\n {2}on {7}\S+, as \S+, pid \d+\n {2}since {4}[\d:]+, \d+ s ago\n {2}lease {4}1\d min left, unless it is renewed\nnext \(E_LOCK_CONFLICT\):\n {2}holdfast lock acquire people --wait 2m\n {2}holdfast explain people\n$/,
    );
  });

  it("a key that is the name of a file is taken, with word of the key that the file has", async () => {
    writeFileSync(join(scene.root, "plan.md"), "");
    const { exit, stderr } = await scene.run(["lock", "acquire", "plan.md", "other", "path/plan.md"]);
    expect([exit, stderr]).toEqual([0, "plan.md is a file here, and this is not its lock: that is path/plan.md\n"]);
  });

  it("LOCK-16: the status of a semaphore says how many permits are taken", async () => {
    for (let time = 0; time < 2; time += 1) await scene.data(["lock", "acquire", "gpu", "--permits", "3"]);
    const [first] = (await scene.run(["lock", "status", "gpu"])).stdout.split("\n");
    expect(first).toBe("gpu is held (profile default), permits 2 of 3 taken");
    const status = await scene.data(["lock", "status", "gpu"]);
    expect([keys(status), status.permits]).toEqual([STATUS, { total: 3, taken: 2 }]);
  });

  it("tables are aligned and fit, words go to stdout once, and --quiet says nothing", async () => {
    const key = `wide/${"x".repeat(80)}`;
    const taken = await scene.run(["lock", "acquire", key], { env: { COLUMNS: "34" } });
    expect(taken.stdout).not.toContain("hf_");
    const lines = taken.stdout.trimEnd().split("\n");
    expect(lines[0]).toBe("acquired");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(34);
    expect(lines[1]?.indexOf("OWNER")).toBe(lines[2]?.indexOf("user:"));
    const quiet = await scene.run(["lock", "release", key, "--quiet"]);
    expect(quiet).toEqual({ exit: 0, stdout: "", stderr: "" });
    const free = await scene.run(["lock", "status", key]);
    expect(free.stdout).toBe(`${key} is free (profile default)\n`);
  });
});
