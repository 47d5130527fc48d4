/** Real processes: races, deaths, other users. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { thisMachine } from "../../../src/platform/machine.js";
import { Agent, deliverable, newFolder, readLock, readLog } from "../../fixtures/deliverable/deliverable.fixture.js";
import { raceToLock, raceToRecover } from "../../fixtures/deliverable/races.fixture.js";

const PATIENCE = { timeout: 240_000, interval: 20 };
const NOBODY = 65_534;
const AGENT = fileURLToPath(new URL("../../fixtures/deliverable/agent.fixture.mjs", import.meta.url));

// kills: deliverable-guard
describe("races", () => {
  it("DELIV-5: ten processes, sixty rounds: one wins each", () => raceToLock(60), 300_000);
  it("DELIV-5: two recover at once: one wins", () => raceToRecover("recover", 2, 15), 300_000);
  it(
    "DELIV-5 STALE-3: six find a stale lock and want it: one takes it over",
    () => raceToRecover("lock", 6, 10),
    300_000,
  );
});

describe("death", () => {
  it("DELIV-3 STALE-2: a killed holder is found by the kernel, whatever its lease", async () => {
    const folder = newFolder();
    const agent = await Agent.start(folder, "agent:dies");
    await agent.call("lock", { ttl: "24h" });
    const one = deliverable(folder);
    expect(await one.status()).toMatchObject({ state: "held", life: "alive" });
    await agent.kill();
    await vi.waitUntil(async () => (await one.status()).state === "dead", PATIENCE);
    expect((await one.lock()).recovered).toMatchObject({ recovery_reason: "pid_dead" });
    expect(readLog(folder)[1]).toMatchObject({ recovery_reason: "pid_dead", previous_holder: "agent:dies" });
  });

  it("STALE-2: a stopped holder is not dead", async () => {
    const folder = newFolder();
    const agent = await Agent.start(folder, "agent:sleeps");
    await agent.call("lock");
    process.kill(agent.pid, "SIGSTOP");
    await vi.waitUntil(() => / T /.test(readFileSync(`/proc/${agent.pid}/stat`, "utf8")), PATIENCE);
    await expect(deliverable(folder).recover()).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    expect(await deliverable(folder).status()).toMatchObject({ state: "held", life: "alive" });
  });

  it("DELIV-3: a lock bound to another process by its pid ends with that process", async () => {
    const folder = newFolder();
    const work = spawn("sleep", ["600"], { stdio: "ignore" });
    try {
      await deliverable(folder).lock({ pid: work.pid ?? 0 });
      expect(readLock(folder)).toMatchObject({ pid: work.pid, start_time: expect.stringMatching(/^\d+$/) });
      const two = deliverable(folder, { holder: "agent:two" });
      await expect(two.lock()).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
      const ended = once(work, "exit");
      work.kill("SIGKILL");
      await ended;
      await vi.waitUntil(async () => (await two.status()).state === "dead", PATIENCE);
      expect(await two.recover()).toMatchObject({ recovery_reason: "pid_dead" });
    } finally {
      work.kill("SIGKILL");
    }
    await expect(deliverable(folder).lock({ pid: 4_000_000 })).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });

  // kills: pid-reuse
  it("DELIV-3: a pid that was given to another process is known by its start time", async () => {
    const folder = newFolder();
    await deliverable(folder).lock({ pid: process.pid });
    const record = readLock(folder) as { store: { proof: Record<string, unknown> } };
    const proof = { ...record.store.proof, startTime: "1" };
    writeFileSync(join(folder, "_LOCK.json"), JSON.stringify({ ...record, store: { ...record.store, proof } }));
    expect((await deliverable(folder).lock()).recovered).toMatchObject({ recovery_reason: "pid_dead" });
  });

  it("STALE-8: what was bound to a process before the machine restarted is over", async () => {
    const folder = newFolder();
    await deliverable(folder).lock({ pid: process.pid });
    const bound = JSON.stringify(readLock(folder)).replaceAll(thisMachine().bootId, "another-boot");
    writeFileSync(join(folder, "_LOCK.json"), bound);
    expect(await deliverable(folder).recover()).toMatchObject({ recovery_reason: "pid_dead" });
  });
});

/** Whether a process of another user can be started that reads this project. */
function canActAsAnother(): boolean {
  if (process.getuid?.() !== 0) return false;
  const look = `require("node:fs").accessSync(${JSON.stringify(AGENT)})`;
  return spawnSync(process.execPath, ["-e", look], { uid: NOBODY, gid: NOBODY, cwd: "/" }).status === 0;
}

describe.skipIf(!canActAsAnother())("another user (needs root, and a clone that other users can read)", () => {
  async function stranger(folder: string): Promise<Agent> {
    chmodSync(dirname(folder), 0o755);
    return Agent.start(folder, "agent:stranger", { uid: NOBODY, gid: NOBODY });
  }

  it("DELIV-6: a lock file that may not be read is E_IO naming the permission, never a success", async () => {
    const folder = newFolder();
    chmodSync(folder, 0o777);
    await deliverable(folder).lock({ detached: true });
    chmodSync(join(folder, "_LOCK.json"), 0o600);
    const agent = await stranger(folder);
    const before = readFileSync(join(folder, "_LOCK.json"), "utf8");
    const status = await agent.call("status");
    expect(status).toMatchObject({ code: "E_IO", details: { errno: "EACCES", permission: "read", owner_uid: 0 } });
    expect(status.message).toContain("mode 0600");
    for (const call of ["lock", "recover"]) {
      const told = await agent.call(call);
      expect(told.code).toBe("E_IO");
      expect(told.message).toMatch(/^(no permission to (read|write)|cannot look at) /);
    }
    expect(readFileSync(join(folder, "_LOCK.json"), "utf8")).toBe(before);
  });

  it.each(["sqlite", "file"])(
    "a %s store that can only be read refuses the lock, and the folder stays as it was",
    async (kind) => {
      const folder = newFolder();
      const root = dirname(folder);
      chmodSync(folder, 0o777);
      const store = `${kind}:${join(root, ".holdfast", kind === "file" ? "store" : "holdfast.db")}`;
      await (await openHoldfast({ root, store, owner: "agent:one" })).close();
      execFileSync("chmod", ["-R", "a+rX", join(root, ".holdfast")]);
      const before = readdirSync(folder);
      const agent = await stranger(folder);
      const told = await agent.call("lock", { detached: true });
      expect(told).toMatchObject({ code: "E_IO", details: { folder } });
      expect(told.message).toContain("which this user cannot write");
      expect(readdirSync(folder)).toEqual(before);
    },
  );

  it("DELIV-6: a lock file that may be read and not removed", async () => {
    const folder = newFolder();
    const lock = await deliverable(folder).lock({ detached: true });
    writeFileSync(join(folder, "_LOCK.json"), "corrupt");
    chmodSync(folder, 0o1777); // Sticky: only its owner removes a file.
    for (const path of [
      ".holdfast",
      ".holdfast/deliverable",
      ".holdfast/deliverable/guard",
      ".holdfast/deliverable/state.json",
    ])
      chownSync(join(folder, path), NOBODY, NOBODY);
    const told = await (await stranger(folder)).call("recover");
    expect(told).toMatchObject({ code: "E_IO", details: { permission: "remove" } });
    expect(readFileSync(join(folder, "_LOCK.json"), "utf8")).toBe("corrupt");
    expect(readLog(folder).filter(({ action }) => action === "recovered")).toEqual([]);
    expect(lock.record.holder).toBe("agent:one");
  });

  it("DELIV-6: a folder that may not be written", async () => {
    const folder = newFolder();
    const told = await (await stranger(folder)).call("lock");
    expect(told).toMatchObject({ code: "E_IO", details: { permission: "create", errno: "EACCES" } });
  });
});
