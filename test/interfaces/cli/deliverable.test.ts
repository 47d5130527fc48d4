/** The commands, as a script meets them. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { CHECKS, type CheckResult } from "../../../src/apps/selftest/run.js";
import { isLocked, newFolder, readLock, readLog } from "../../fixtures/deliverable/deliverable.fixture.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

interface Ran {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly json: {
    ok: boolean;
    data: Record<string, unknown>;
    error: { code: string; next: string[]; details: Record<string, unknown> };
  };
}

function holdfast(cwd: string, ...words: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [MAIN, ...words],
      { cwd, env: cleanEnvironment() },
      (_, stdout, stderr) => {
        const json = words.includes("--json") ? (JSON.parse(stdout) as Ran["json"]) : (undefined as never);
        resolve({ exit: child.exitCode ?? -1, stdout, stderr, json });
      },
    );
    child.stdin?.end();
  });
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_")));
}

describe("holdfast deliverable", () => {
  it("DELIV-1 CLI-2: locks, refuses, renews, tells and unlocks, without a workspace", async () => {
    const folder = newFolder();
    const cwd = dirname(folder);
    const one = ["--owner", "agent:one", "--json"];
    const locked = await holdfast(cwd, "deliverable", "lock", "DEL-08-05", "--ttl", "5m", ...one);
    expect(locked.json).toMatchObject({
      ok: true,
      data: { lock: { holder: "agent:one", pid: null, lease_duration_s: 300 }, recovered: null },
    });
    const { lease_token, ...record } = locked.json.data.lock as Record<string, unknown>;
    expect(readLock(folder)).toMatchObject(record);
    expect(lease_token).toMatch(/^hf_/);

    const refused = await holdfast(cwd, "deliverable", "lock", "DEL-08-05", "--owner", "agent:two", "--json");
    expect([refused.exit, refused.json.error.code]).toEqual([75, "E_LOCK_CONFLICT"]);
    expect(refused.json.error.details.contention).toMatchObject({
      type: "LOCK_CONTENTION",
      deliverable_id: "DEL-08-05",
      holder: "agent:one",
      lease_remaining_s: expect.any(Number),
      contention_time: expect.any(String),
    });
    expect((await holdfast(cwd, "deliverable", "recover", "DEL-08-05", "--json")).exit).toBe(75);
    expect((await holdfast(cwd, "deliverable", "unlock", "DEL-08-05", "--json")).exit).toBe(81);

    const renewed = await holdfast(cwd, "deliverable", "renew", "DEL-08-05", "--ttl", "1h", ...one);
    expect(renewed.json.data).toMatchObject({ lock: { lease_duration_s: 3600 } });
    const status = await holdfast(cwd, "deliverable", "status", "DEL-08-05", "--json");
    expect(status.json.data).toMatchObject({ deliverable: { state: "held", copied: false, recoverable: null } });
    const unlocked = await holdfast(cwd, "deliverable", "unlock", "DEL-08-05", ...one);
    expect(unlocked.json.data).toEqual({ folder, unlocked: true, terminated: false });
    expect(isLocked(folder)).toBe(false);
    expect((await holdfast(cwd, "deliverable", "unlock", "DEL-08-05", ...one)).exit).toBe(81);
    const nothing = await holdfast(cwd, "deliverable", "recover", "DEL-08-05", "--json");
    expect([nothing.exit, nothing.json.data]).toEqual([0, { folder, recovered: null }]);
  }, 300_000);

  it("DELIV-3 DELIV-4: binds to a process, recovers a corrupt lock, terminates", async () => {
    const folder = newFolder();
    const work = spawn("sleep", ["600"], { stdio: "ignore" });
    onTestFinished(() => void work.kill("SIGKILL"));
    const bound = await holdfast(
      folder,
      "deliverable",
      "lock",
      ".",
      "--pid",
      String(work.pid),
      "--id",
      "D-7",
      "--json",
    );
    expect(bound.json.data).toMatchObject({ lock: { pid: work.pid, deliverable_id: "D-7" } });
    writeFileSync(join(folder, "_LOCK.json"), "torn");
    const corrupt = await holdfast(folder, "deliverable", "lock", ".", "--json");
    expect([corrupt.exit, corrupt.json.error.code]).toEqual([65, "E_STORE_CORRUPT"]);
    const recovered = await holdfast(folder, "deliverable", "recover", ".", "--json");
    expect(recovered.json.data).toMatchObject({ recovered: { recovery_reason: "corrupt", previous: null } });
    expect((await holdfast(folder, "deliverable", "unlock", ".", "--terminate")).exit).toBe(0);
    expect(readdirSync(folder).sort()).toEqual(["_LOCK.log.jsonl", "_STATUS.md", "drafts"]);
    expect(readLog(folder).at(-1)?.action).toBe("terminated");
    expect((await holdfast(folder, "deliverable", "lock", "missing", "--json")).exit).toBe(89);
  }, 300_000);

  it("CLI-5: says to a person who holds it, since when, for how long, and what to do", async () => {
    const folder = newFolder();
    await holdfast(folder, "deliverable", "lock", ".", "--owner", "agent:one");
    const { stderr, exit } = await holdfast(folder, "deliverable", "lock", ".", "--owner", "agent:two");
    expect(exit).toBe(75);
    expect(stderr).toMatch(/held by +agent:one.*since .*lease +\d+ min left/s);
    expect(stderr).toContain(`holdfast deliverable status ${folder}`);
    const { stdout } = await holdfast(folder, "deliverable", "status", ".");
    expect(stdout).toMatch(/^held DEL-08-05\n/);
    expect(stdout).toContain("none: only the lease counts");
  }, 300_000);
});

describe("holdfast selftest and doctor", () => {
  function workspace(): string {
    const dir = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  }

  it("CLI-5: whoever has locked it already, and whoever finds it free, is told what to type", async () => {
    const folder = newFolder();
    const one = ["--owner", "agent:one", "--json"];
    await holdfast(folder, "deliverable", "lock", ".", ...one);
    const again = await holdfast(folder, "deliverable", "lock", ".", ...one);
    expect([again.exit, again.json.error.next.slice(1)]).toEqual([
      75,
      [
        "It was locked under your own name. If you did, it is yours already:",
        `holdfast --owner agent:one deliverable renew ${folder}`,
        "If not, do not write; report the contention.",
      ],
    ]);
    const step = again.json.error.next[2]?.split(" ").slice(1) ?? [];
    expect((await holdfast(folder, ...step)).exit).toBe(0);
    const other = await holdfast(folder, "deliverable", "lock", ".", "--owner", "agent:two", "--json");
    expect(other.json.error.next.slice(1)).toEqual(["Do not write; report the contention."]);
    await holdfast(folder, "deliverable", "unlock", ".", ...one);
    const free = await holdfast(folder, "deliverable", "renew", ".", "--json");
    expect([free.exit, free.json.error.next.at(-1)]).toEqual([81, `holdfast deliverable lock ${folder}`]);
  });

  it("CLI-5: a wrong argument is told with the help of its command", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "file"), "");
    const { json } = await holdfast(folder, "deliverable", "lock", "file", "--json");
    expect(json.error).toMatchObject({ code: "E_INVALID_ARGUMENT", next: ["holdfast deliverable lock --help"] });
  });

  it("DELIV-6: the bundled self-test finds its second process, and leaves nothing behind", async () => {
    const dir = workspace();
    const { exit, json } = await holdfast(dir, "selftest", "--json");
    const { selftest } = json.data as unknown as { selftest: { ok: boolean; checks: CheckResult[] } };
    expect(selftest.checks.map(({ name }) => name)).toEqual(CHECKS.map(({ name }) => name));
    expect(selftest.checks.filter(({ result }) => result === "failed")).toEqual([]);
    expect([exit, selftest.ok, readdirSync(dir)]).toEqual([0, true, []]);
    expect((await holdfast(dir, "selftest", "missing", "--json")).exit).toBe(89);
  }, 300_000);

  it("TREE-10: doctor tells, --strict fails on warnings, --repair mends and tells, a bad config is a finding", async () => {
    const dir = workspace();
    await holdfast(dir, "init");
    const clean = await holdfast(dir, "doctor", "--strict", "--json");
    expect([clean.exit, clean.json.data]).toMatchObject([0, { root: dir, findings: [], repaired: [] }]);
    expect((await holdfast(dir, "doctor")).stdout).toMatch(/^nothing is wrong/);

    const { openHoldfast } = await import("../../../dist/index.js");
    const store = `sqlite:${join(dir, ".holdfast", "holdfast.db")}`;
    const one = await openHoldfast({ store, owner: "agent:one", heart: "loop" });
    await one.acquire("t/y", { detached: true, ttl: "1s" });
    await one.close();
    await expect
      .poll(async () => (await holdfast(dir, "doctor", "--strict", "--json")).exit, { timeout: 240_000, interval: 200 })
      .toBe(65);
    const found = await holdfast(dir, "doctor", "--json");
    expect([found.exit, found.json.data]).toMatchObject([
      0,
      { findings: [{ code: "GRANT_RECOVERABLE", auto_safe: true }] },
    ]);
    const mended = await holdfast(dir, "doctor", "--strict", "--repair", "--json");
    expect([mended.exit, mended.json.data]).toMatchObject([
      0,
      { findings: [], repaired: [{ code: "GRANT_RECOVERABLE", ok: true }] },
    ]);

    writeFileSync(join(dir, "holdfast.config.json"), "{");
    const broken = await holdfast(dir, "doctor", "--json");
    expect([broken.exit, broken.json.data]).toMatchObject([65, { findings: [{ code: "CONFIG_INVALID" }] }]);
    expect(readFileSync(join(dir, "holdfast.config.json"), "utf8")).toBe("{");
  }, 300_000);
});
