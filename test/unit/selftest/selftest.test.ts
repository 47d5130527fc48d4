import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHECKS, runSelftest } from "../../../src/apps/selftest/run.js";

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-selftest-"));
  writeFileSync(join(dir, "work.md"), "");
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("the self-test", () => {
  it("DELIV-6: tries everything locks rest on", () => {
    expect(CHECKS.map(({ name }) => name)).toEqual([
      "local file system",
      "exclusive create",
      "kernel lock",
      "rename",
      "exchange",
      "fsync",
      "contention",
      "proof of death",
      "recovery",
      "expiry",
    ]);
  });

  it("says in full sentences what to do when a check fails", () => {
    for (const { name, next } of CHECKS) {
      expect(next.length, name).toBeGreaterThan(0);
      for (const text of next) expect(text, name).toMatch(/^[A-Z].{20,}[.…]$/);
    }
  });

  it("goes on after a check that fails, and says so; one that is optional is a warning", async () => {
    const broken = { name: "broken", proves: "nothing", next: ["Do something about it, please."] };
    const fails = () => {
      throw new Error("it is broken");
    };
    const last = { name: "last", proves: "something", next: ["Nothing is to be done."], try: () => undefined };
    const checks = [{ ...broken, try: fails }, { ...broken, isOptional: true as const, try: fails }, last];
    const report = await runSelftest(dir, { checks });
    expect(report.ok).toBe(false);
    expect(report.checks.map(({ result, problem, next }) => [result, problem, next])).toEqual([
      ["failed", "it is broken", broken.next],
      ["warning", "it is broken", broken.next],
      ["ok", null, []],
    ]);
    expect(readdirSync(dir)).toEqual(["work.md"]);
  });

  it("needs a folder that is there and can be written", async () => {
    await expect(runSelftest(join(dir, "missing"))).rejects.toMatchObject({ code: "E_NOT_FOUND" });
    if (process.getuid?.() === 0) await expect(runSelftest("/proc")).rejects.toMatchObject({ code: "E_IO" });
    else {
      chmodSync(dir, 0o555);
      await expect(runSelftest(dir)).rejects.toMatchObject({ code: "E_IO" });
      chmodSync(dir, 0o755);
    }
  });
});
