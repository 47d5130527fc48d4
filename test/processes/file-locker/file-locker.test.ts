import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type FileLocker, openFileLocker } from "../../../src/features/file-locker/file-locker.js";

const HOLDER = fileURLToPath(new URL("./lock-holder.fixture.mjs", import.meta.url));

let dir: string;
let ours: FileLocker;
let theirs: FileLocker;
const children: ChildProcess[] = [];

beforeEach(async () => {
  vi.stubEnv("HOLDFAST_LOCK_TIMEOUT", undefined);
  dir = mkdtempSync(join(tmpdir(), "holdfast-locker-"));
  ours = await openFileLocker(join(dir, "locks"));
  theirs = await openFileLocker(join(dir, "locks"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  ours.close();
  theirs.close();
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

async function startHolder(name: string, mode: "exclusive" | "shared"): Promise<ChildProcess> {
  const child = spawn(process.execPath, [HOLDER, ours.dir, name, mode], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [said] = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  expect(String(said)).toBe("held\n");
  return child;
}

/** Descriptors this process has open on files of the test's folder. */
function openDescriptors(): number {
  const links = readdirSync("/proc/self/fd").map((fd) => join("/proc/self/fd", fd));
  return links.filter((link) => targetOf(link).startsWith(dir)).length;
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}

describe("LOCK-17 file locker: who excludes whom", () => {
  it("LOCK-17 exclusive excludes exclusive and shared, until it is released", async () => {
    const guard = await ours.lockExclusive("build");
    expect(guard).toMatchObject({ name: "build", mode: "exclusive", path: join(ours.dir, "build.lock") });
    expect(await theirs.tryLockExclusive("build")).toBeNull();
    expect(await theirs.tryLockShared("build")).toBeNull();
    expect(await ours.tryLockShared("build")).toBeNull();
    guard.release();
    expect(await theirs.tryLockExclusive("build")).not.toBeNull();
  });

  it("LOCK-17 shared locks share and hold back a writer until the last is gone", async () => {
    const [one, two] = [await ours.lockShared("build"), await theirs.lockShared("build")];
    const three = await theirs.tryLockShared("build");
    expect(three?.mode).toBe("shared");
    for (const guard of [one, two]) guard.release();
    expect(await ours.tryLockExclusive("build")).toBeNull();
    three?.release();
    expect(await ours.tryLockExclusive("build")).not.toBeNull();
  });

  it("LOCK-17 different names do not meet, whatever their case", async () => {
    await ours.lockExclusive("a");
    expect((await theirs.tryLockExclusive("A"))?.path).toBe(join(ours.dir, "%41.lock"));
    expect(await theirs.tryLockExclusive("b")).not.toBeNull();
  });

  it("LOCK-17 a waiter gets the lock when the holder releases", async () => {
    const guard = await ours.lockExclusive("build");
    const waiter = theirs.lockExclusive("build");
    expect(await ours.tryLockExclusive("build")).toBeNull();
    guard.release();
    expect((await waiter).mode).toBe("exclusive");
  });

  it("LOCK-17 never lets two into the critical section", async () => {
    let inside = 0;
    let most = 0;
    let entries = 0;
    const worker = async (locker: FileLocker): Promise<void> => {
      for (let i = 0; i < 10; i++) {
        const guard = await locker.lockExclusive("counter", { timeoutMs: 240_000 });
        most = Math.max(most, ++inside);
        await new Promise(setImmediate);
        inside--;
        entries++;
        guard.release();
      }
    };
    await Promise.all([ours, theirs, ours, theirs].map(worker));
    expect({ most, entries }).toEqual({ most: 1, entries: 40 });
  });
});

describe("LOCK-17 file locker: bounded waits", () => {
  it("LOCK-17 throws E_LOCK_TIMEOUT that names the lock file and what to do", async () => {
    const guard = await ours.lockExclusive("build");
    const error = await theirs.lockShared("build", { timeoutMs: 30 }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "E_LOCK_TIMEOUT",
      retryable: true,
      message: expect.stringContaining(guard.path),
      details: { name: "build", mode: "shared", path: guard.path, timeout_ms: 30 },
      next: [expect.stringContaining("lsof"), expect.stringContaining("HOLDFAST_LOCK_TIMEOUT")],
    });
  });

  it("LOCK-17 takes the time-out of the locker, else HOLDFAST_LOCK_TIMEOUT", async () => {
    await ours.lockExclusive("build");
    const given = await openFileLocker(ours.dir, { timeoutMs: 0 });
    await expect(given.lockExclusive("build")).rejects.toMatchObject({ details: { timeout_ms: 0 } });
    vi.stubEnv("HOLDFAST_LOCK_TIMEOUT", "0.02");
    const fromEnvironment = await openFileLocker(ours.dir);
    await expect(fromEnvironment.lockExclusive("build")).rejects.toMatchObject({ details: { timeout_ms: 20 } });
  });

  it.each(["soon", "-1", "5s", " ", "1e3", "Infinity", "86401"])(
    "LOCK-17 E_CONFIG on the environment's %j",
    async (value) => {
      vi.stubEnv("HOLDFAST_LOCK_TIMEOUT", value);
      await expect(openFileLocker(ours.dir)).rejects.toMatchObject({
        code: "E_CONFIG",
        details: { field: "HOLDFAST_LOCK_TIMEOUT", value },
      });
    },
  );

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 86_400_001])(
    "LOCK-17 refuses the time-out %d",
    async (timeoutMs) => {
      const refusal = { code: "E_INVALID_ARGUMENT", details: { field: "timeoutMs" } };
      await expect(ours.lockExclusive("build", { timeoutMs })).rejects.toMatchObject(refusal);
      await expect(openFileLocker(ours.dir, { timeoutMs })).rejects.toMatchObject(refusal);
    },
  );

  it("LOCK-17 an aborted wait rejects with the reason", async () => {
    await ours.lockExclusive("build");
    const reason = new Error("changed my mind");
    const controller = new AbortController();
    const wait = theirs.lockExclusive("build", { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await expect(wait).rejects.toBe(reason);
    await expect(theirs.lockExclusive("free", { signal: controller.signal })).rejects.toBe(reason);
    expect(await theirs.tryLockExclusive("free")).not.toBeNull();
  });

  it.runIf(process.platform === "linux")(
    "LOCK-17 refusals, time-outs and aborts leave no descriptor open (needs Linux)",
    async () => {
      const guard = await ours.lockExclusive("build");
      const signal = AbortSignal.timeout(20);
      await theirs.tryLockShared("build");
      await theirs.lockShared("build", { timeoutMs: 5 }).catch(() => {});
      await theirs.lockShared("build", { signal }).catch(() => {});
      expect(openDescriptors()).toBe(1);
      guard.release();
      expect(openDescriptors()).toBe(0);
    },
  );
});

describe("LOCK-17 file locker: the end of a lock", () => {
  it("LOCK-17 is released at the end of the scope, also by an exception", async () => {
    const work = async (fail: boolean): Promise<void> => {
      await using _asynchronous = await ours.lockExclusive("async");
      using _synchronous = await ours.lockExclusive("sync");
      expect(await theirs.tryLockShared("async")).toBeNull();
      expect(await theirs.tryLockShared("sync")).toBeNull();
      if (fail) throw new Error("work failed");
    };
    await work(false);
    await expect(work(true)).rejects.toThrow("work failed");
    expect(await theirs.tryLockExclusive("async")).not.toBeNull();
    expect(await theirs.tryLockExclusive("sync")).not.toBeNull();
  });

  it("LOCK-17 a second release does not touch the next holder", async () => {
    const first = await ours.lockExclusive("build");
    first.release();
    // Very likely on the same descriptor number as the first.
    await ours.lockExclusive("build");
    first.release();
    first[Symbol.dispose]();
    expect(await theirs.tryLockShared("build")).toBeNull();
  });

  it("LOCK-17 close() releases everything, ends waits and refuses further use", async () => {
    const closed = { code: "E_INVALID_ARGUMENT", details: { field: "locker" } };
    await theirs.lockExclusive("theirs");
    await ours.lockExclusive("a");
    await ours.lockShared("b");
    const wait = ours.lockExclusive("theirs");
    ours.close();
    await expect(wait).rejects.toMatchObject(closed);
    expect(await theirs.tryLockExclusive("a")).not.toBeNull();
    expect(await theirs.tryLockExclusive("b")).not.toBeNull();
    await expect(ours.tryLockShared("c")).rejects.toMatchObject(closed);
    ours.close();
  });

  it.each(["exclusive", "shared"] as const)(
    "LOCK-17 the kernel frees the %s lock of a killed process",
    async (mode) => {
      const child = await startHolder("build", mode);
      expect(await ours.tryLockExclusive("build")).toBeNull();
      const wait = ours.lockExclusive("build", { timeoutMs: 240_000 });
      child.kill("SIGKILL");
      expect((await wait).name).toBe("build");
    },
  );

  it("LOCK-17 leaves the lock file where it is", async () => {
    const guard = await ours.lockExclusive("build");
    guard.release();
    expect(existsSync(guard.path)).toBe(true);
  });
});

describe("LOCK-17 file locker: the lock file", () => {
  it("LOCK-17 deleted under a waiter does not give two holders", async () => {
    const holder = await ours.lockExclusive("build");
    let entered = false;
    const wait = theirs.lockExclusive("build").then((guard) => {
      entered = true;
      return guard;
    });
    unlinkSync(holder.path);
    await new Promise((done) => setTimeout(done, 60));
    expect(entered).toBe(false);
    holder.release();
    const waiter = await wait;
    // The waiter must hold the file a newcomer finds, not the deleted one.
    expect(await ours.tryLockShared("build")).toBeNull();
    waiter.release();
    expect(await ours.tryLockShared("build")).not.toBeNull();
  });

  it("LOCK-17 replaced under a waiter: it waits for the holder of the new file too", async () => {
    const holder = await ours.lockExclusive("build");
    const refused = expect(theirs.lockExclusive("build", { timeoutMs: 150 })).rejects.toMatchObject({
      code: "E_LOCK_TIMEOUT",
    });
    unlinkSync(holder.path);
    const newcomer = await ours.lockExclusive("build");
    holder.release();
    await refused;
    newcomer.release();
  });

  it("LOCK-17 E_IO names the path that cannot be used", async () => {
    const file = join(dir, "file");
    writeFileSync(file, "");
    await expect(openFileLocker(file)).rejects.toMatchObject({
      code: "E_IO",
      details: { path: file, errno: "EEXIST" },
    });
    rmSync(ours.dir, { recursive: true });
    const path = join(ours.dir, "build.lock");
    await expect(ours.lockExclusive("build")).rejects.toMatchObject({
      code: "E_IO",
      details: { path, errno: "ENOENT" },
    });
  });

  it.skipIf(process.getuid?.() === 0)(
    "LOCK-17 permission denied is E_IO that names the path (needs a user other than root)",
    async () => {
      chmodSync(ours.dir, 0o500);
      const path = join(ours.dir, "build.lock");
      await expect(ours.tryLockShared("build")).rejects.toMatchObject({
        code: "E_IO",
        details: { path, errno: "EACCES" },
      });
      chmodSync(ours.dir, 0o700);
    },
  );

  it("LOCK-17 does not follow a planted symlink", async () => {
    symlinkSync(join(dir, "elsewhere"), join(ours.dir, "build.lock"));
    await expect(ours.tryLockExclusive("build")).rejects.toMatchObject({ code: "E_IO" });
    expect(existsSync(join(dir, "elsewhere"))).toBe(false);
  });
});

describe("LOCK-17 file locker: names", () => {
  it.each(["", "x".repeat(201), "X".repeat(67), "\ud800"])("LOCK-17 refuses the name %j", async (name) => {
    const refusal = { code: "E_INVALID_ARGUMENT", details: { field: "name" } };
    await expect(ours.lockExclusive(name)).rejects.toMatchObject(refusal);
    await expect(ours.tryLockShared(name)).rejects.toMatchObject(refusal);
    expect(readdirSync(ours.dir)).toEqual([]);
  });

  it("LOCK-17 any other name is one file in the folder, distinct even where case is ignored", async () => {
    const name = fc.oneof(
      fc.constantFrom(".", "..", "../x", "/etc/passwd", "a/b", "a%2fb", "C:\\x", "nul\0"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 16 }),
    );
    await fc.assert(
      fc.asyncProperty(name, name, async (one, other) => {
        const guard = await ours.tryLockExclusive(one);
        const second = await theirs.tryLockExclusive(other);
        expect(second === null).toBe(one === other);
        if (second) expect(second.path.toLowerCase()).not.toBe(guard?.path.toLowerCase());
        expect(guard?.path.slice(ours.dir.length)).toMatch(/^\/[a-z0-9._%A-F-]+\.lock$/);
        guard?.release();
        second?.release();
      }),
      { seed: 17 },
    );
    expect(readdirSync(dir)).toEqual(["locks"]);
  });
});
