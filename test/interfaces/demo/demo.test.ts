import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("../../../examples/demo/main.mjs", import.meta.url));

/** The demo makes its workspace here, so its processes can be told from all others by their arguments. */
let dir: string;
let demo: ChildProcess | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "demo-test-"));
});

afterEach(() => {
  demo?.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

function start(...args: string[]): { child: ChildProcess; output: () => string } {
  const env = { ...process.env, TMPDIR: dir };
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  demo = child;
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => {
      text += part.toString();
    });
  return { child, output: () => text };
}

/** Pids of workers that live, frozen ones included. */
function workers(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && commandLine(name).includes(dir))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe.skipIf(process.platform !== "linux")("the demo (needs Linux)", () => {
  it("kills and freezes workers, loses nothing, says so, and leaves nothing behind", async () => {
    const { child, output } = start("--seconds", "6");
    const [code] = await once(child, "close");

    expect(output()).toMatch(/^ ✔ updates acknowledged +\d+/m);
    expect(output()).toMatch(/^ ✔ present in the data +\d+/m);
    expect(output()).toMatch(/^ ✔ lost +0$/m);
    expect(output()).toMatch(/^ ✔ stale commits refused +[1-9].*E_/m);
    expect(output()).toMatch(/^ ✔ takeovers +[1-9]\d* +p50 \d+ ms, max \d+ ms/m);
    expect(output()).toMatch(/^ ✔ fencing tokens +\d+/m);
    expect(output()).toMatch(/^ ✔ audit chain +\d+/m);
    expect(output()).toMatch(
      /Holdfast held: [1-9]\d* kills?, [1-9]\d* freezes?, \d+ acknowledged updates, none lost\./,
    );
    expect(output()).not.toContain("\u001b");
    expect(code).toBe(0);
    expect(workers()).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s ends every worker, frozen ones too, and removes the workspace", async (signal, exitCode) => {
    const { child, output } = start("--seconds", "45", "--workers", "3");
    await until(() => output().includes("froze "));
    expect(workers().length).toBeGreaterThan(0);
    child.kill(signal);
    const [code] = await once(child, "close");

    expect(code).toBe(exitCode);
    expect(output()).toContain("no verdict");
    expect(workers()).toEqual([]);
    expect(readdirSync(dir)).toEqual([]);
  });

  it("leaves no worker when it is killed itself, not even a frozen one", async () => {
    const { child, output } = start("--seconds", "45", "--workers", "3");
    await until(() => output().includes("froze "));
    child.kill("SIGKILL");
    await until(() => workers().length === 0);
  });

  it("refuses options that make no sense", async () => {
    const { child, output } = start("--workers", "1");
    const [code] = await once(child, "close");
    expect(code).toBe(64);
    expect(output()).toContain("--workers takes a whole number from 2 to 12");
  });
});
