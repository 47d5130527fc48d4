/** Checks what locks need of the system as a whole: two real processes, a lease that expires, a process that is killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sleep } from "../../base/sleep.js";
import { openIn } from "../../client/open-holdfast.js";
import { storeAlone } from "../../client/workspace/find-workspace.js";
import { probeLife } from "../../platform/liveness/proof-of-life.js";
import { type Bench, type Check, expectThat, type SecondProcess } from "./check.js";

const CHILD = fileURLToPath(new URL("./selftest.process.js", import.meta.url));
const KEY = "selftest:child";
/** Far longer than any of it takes, so that a slow machine does not look like a broken one. */
const PATIENCE_MS = 60_000;
const POLL_MS = 10;

const CLOCK = ["Look whether the machine's clock stands still or this process is stopped again and again."];
const KERNEL = [
  "Kernel locks do not tell here when a process has died: keep the workspace on a local disk.",
  "Until then a killed holder is noticed only when its lease ends.",
];

export const LEASE_CHECKS: readonly Check[] = [
  {
    name: "contention",
    proves: "what one process holds, another one does not get",
    next: [
      "Do not use this folder: its locks do not hold. Keep the workspace on a local disk.",
      "If no second process could be started, look at the limits of this user (ulimit -u).",
    ],
    async try(bench) {
      bench.second = await startSecond(bench);
      await using one = await openOne(bench);
      expectThat((await one.tryAcquire(KEY)) === null, "two processes got the same lock");
    },
  },
  {
    name: "proof of death",
    proves: "a process that lives is seen alive, and one that was killed is seen dead",
    next: KERNEL,
    async try(bench) {
      const { nonce, identity, kill } = secondOf(bench);
      const look = () => probeLife(aliveIn(bench), nonce, identity);
      expectThat(look() === "alive", `a living process looks ${look()}`);
      await kill();
      expectThat(await untilThere(async () => look() === "dead"), `a killed process looks ${look()}`);
    },
  },
  {
    name: "recovery",
    proves: "the lock of a killed process is taken over, with a higher fencing token",
    next: KERNEL,
    async try(bench) {
      secondOf(bench);
      await using one = await openOne(bench);
      const before = await one.inspect(KEY);
      const lease = await untilThere(async () => (await one.tryAcquire(KEY, { ttl: "1m" })) ?? false);
      if (lease === false) throw new Error("the lock of a killed process stays held");
      expectThat(lease.fencingToken > before.fencing_token, "the fencing token did not grow");
      await lease.release();
    },
  },
  {
    name: "expiry",
    proves: "a lease that nobody renews runs out, and not before its time",
    next: CLOCK,
    async try(bench) {
      await using one = await openOne(bench);
      await using two = await openOne(bench);
      const startedAt = performance.now();
      await one.acquire("selftest:expiry", { ttl: "1s", detached: true });
      const lease = await untilThere(async () => (await two.tryAcquire("selftest:expiry", { ttl: "1m" })) ?? false);
      const lastedMs = performance.now() - startedAt;
      if (lease === false) throw new Error("the lease did not run out");
      expectThat(lastedMs > 950, `a lease of 1 s ran out after ${Math.round(lastedMs)} ms`);
      await lease.release();
    },
  },
];

function openOne({ store }: Bench) {
  return openIn(storeAlone(store, "service:selftest"), { heart: "loop" });
}

function aliveIn({ dir }: Bench): string {
  return join(dir, "alive");
}

function secondOf({ second }: Bench): SecondProcess {
  if (second === null) throw new Error("there was no second process to try it with");
  return second;
}

async function startSecond(bench: Bench): Promise<SecondProcess> {
  const child = spawn(process.execPath, [CHILD, bench.store, KEY, aliveIn(bench)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  let said = "";
  child.stderr.on("data", (text) => {
    said += String(text);
  });
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  const enough = new AbortController();
  try {
    const [line] = (await Promise.race([
      once(child.stdout, "data"),
      ended.then(([code]) => Promise.reject(new Error(`the second process ended with ${code}: ${said}`))),
      sleep(PATIENCE_MS, enough.signal).then(() => Promise.reject(new Error("the second process did not come up"))),
    ])) as [Buffer];
    return { ...(JSON.parse(line.toString()) as { nonce: string; identity: string }), kill };
  } catch (error) {
    if (child.pid !== undefined) await kill();
    throw error;
  } finally {
    enough.abort();
  }
}

async function untilThere<T>(look: () => Promise<T | false>): Promise<T | false> {
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(POLL_MS)) {
    const found = await look();
    if (found !== false || performance.now() > end) return found;
  }
}
