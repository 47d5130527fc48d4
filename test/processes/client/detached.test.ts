/** Grants that outlive the process that took them: held by their lease alone, or bound to another process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { isAfterLeaseOf, Scene, SIDE_BY_SIDE, STORES } from "../../fixtures/client/processes.fixture.js";

const LAST_PID = "/proc/sys/kernel/ns_last_pid";
const canChoosePids = mayWrite(LAST_PID);

function mayWrite(file: string): boolean {
  try {
    writeFileSync(file, readFileSync(file));
    return true;
  } catch {
    return false;
  }
}

function startWorker(scene: Scene): ChildProcess & { readonly pid: number } {
  return scene.keep(spawn("sleep", ["600"], { stdio: "ignore" })) as ChildProcess & { readonly pid: number };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** Starts processes until one has this pid; the system counts on from the number it was told. */
async function startWithPid(scene: Scene, pid: number): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    writeFileSync(LAST_PID, String(pid - 1));
    const worker = startWorker(scene);
    if (worker.pid === pid) return true;
    await kill(worker);
  }
  return false;
}

describe.each(STORES)("detached grants (%s)", SIDE_BY_SIDE, (kind) => {
  it("LOCK-5: a detached grant stands when its process has ended, until its lease has", async () => {
    await using scene = new Scene(kind);
    const [taker, next] = await scene.startTwo();
    const held = await taker.acquire("work", { detached: true, ttl: "1h" });
    await taker.exit();
    expect(await next.tryAcquire("work")).toBeNull();
    const again = await (await scene.open()).reattach("work", held.token);
    await again.renew("1s");
    const [shorter] = again.grants;
    const taken = await next.acquire("work", { wait: "1m" });
    expect(taken.record).toSatisfy(isAfterLeaseOf(shorter ?? held.record));
    expect(await scene.entries("stolen")).toMatchObject([
      { details: { reason: "lease_expired", evidence: { life: "unknown" } } },
    ]);
  });

  it("LOCK-5: a detached grant stands when its process is killed, 15 minutes by default", async () => {
    await using scene = new Scene(kind);
    const [taker, next] = await scene.startTwo();
    const held = await taker.acquire("work", { detached: true });
    expect(held.record.lease_duration_s).toBe(900);
    await taker.kill();
    await expect(next.acquire("work", { wait: "1s" })).rejects.toMatchObject({ code: "E_LOCK_TIMEOUT" });
  });

  it("LOCK-5: a grant bound to a process ends with that process, and not before", async () => {
    await using scene = new Scene(kind);
    const [taker, next] = await scene.startTwo();
    const worker = startWorker(scene);
    const held = await taker.acquire("work", { pid: worker.pid });
    expect(held.record.holder_id).toContain(`:${worker.pid}:`);
    await taker.exit();
    expect(await next.tryAcquire("work")).toBeNull();
    worker.kill("SIGSTOP");
    await sleep(300);
    expect(await next.tryAcquire("work")).toBeNull();

    const waiting = next.acquire("work", { wait: "1m" });
    await scene.untilInLine("work", "agent:b", waiting);
    await kill(worker);
    await waiting;
    expect(await scene.entries("stolen")).toMatchObject([
      { details: { reason: "process_dead", evidence: { life: "dead" } } },
    ]);
  });

  // kills: zombie
  it("LOCK-5: a process that was killed and that nobody has reaped yet is dead", async () => {
    await using scene = new Scene(kind);
    const [taker, next] = await scene.startTwo();
    // The shell turns into a program that never asks how its child ended, so that the child stays a zombie.
    const parent = scene.keep(
      spawn("sh", ["-c", "sleep 600 & echo $!; exec sleep 600"], { stdio: ["ignore", "pipe", "inherit"] }),
    );
    const [line] = (await once(parent.stdout ?? parent, "data")) as [Buffer];
    const pid = Number(line.toString());
    await taker.acquire("work", { pid });
    await taker.exit();
    expect(await next.tryAcquire("work")).toBeNull();
    process.kill(pid, "SIGKILL");
    await next.acquire("work", { wait: "1m" });
  });

  it.skipIf(!canChoosePids)(
    "STALE-2: a process that got the pid of a dead one keeps nothing of it (needs the right to choose pids)",
    async ({ skip }) => {
      await using scene = new Scene(kind);
      const [taker, holder, next] = await scene.startThree();
      const worker = startWorker(scene);
      await taker.acquire("bound", { pid: worker.pid });
      await taker.exit();
      await holder.acquire("held");
      await kill(worker);
      await holder.kill();
      skip(!(await startWithPid(scene, worker.pid)), "needs a pid that no other process takes");
      skip(!(await startWithPid(scene, holder.pid)), "needs a pid that no other process takes");
      expect(await next.tryAcquire("bound")).not.toBeNull();
      expect(await next.tryAcquire("held")).not.toBeNull();
    },
  );
});
