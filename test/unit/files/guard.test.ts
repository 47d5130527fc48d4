import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { enterAll, type Guard, leaveAll, openGuard, tryEnterAll } from "../../../src/files/guard.js";

const UNAVAILABLE = { code: "E_STORE_UNAVAILABLE" };

let dir: string;
let opened: Guard[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-guard-"));
  opened = [];
});
afterEach(() => {
  vi.useRealTimers();
  for (const guard of opened) guard.close();
  rmSync(dir, { recursive: true, force: true });
});

function open(name = "guard"): Guard {
  const guard = openGuard(join(dir, name));
  opened.push(guard);
  return guard;
}

describe("a guard", () => {
  it("lets one in at a time, also within one process", () => {
    const [one, other] = [open(), open()];
    expect(one.tryEnter()).toBe(true);
    expect(other.tryEnter()).toBe(false);
    one.leave();
    expect(other.tryEnter()).toBe(true);
    expect(one.tryEnter()).toBe(false);
  });

  // kills: guard-twice
  it("does not let the one inside in again", () => {
    const guard = open();
    expect(guard.tryEnter()).toBe(true);
    expect(guard.tryEnter()).toBe(false);
    guard.leave();
    expect(guard.tryEnter()).toBe(true);
  });

  it("STORE-6: shows by what is written inside that others have their turns", () => {
    const written = join(dir, "record");
    const guard = openGuard(join(dir, "guard"), { writtenInside: written });
    opened.push(guard);
    const before = guard.turn?.();
    writeFileSync(written, "");
    utimesSync(written, 1, 1);
    const first = guard.turn?.();
    utimesSync(written, 1, 2);
    expect(new Set([before, first, guard.turn?.()]).size).toBe(3);
    expect(guard.turn?.()).toBe(guard.turn?.());
  });

  // kills: guard-tried-by-all
  it("STORE-6: is tried by one of those who wait for it in a process, and entered by all of them in turn", async () => {
    const [inside, guard] = [open(), open()];
    expect(inside.tryEnter()).toBe(true);
    let tries = 0;
    const counted: Guard = {
      ...guard,
      tryEnter() {
        tries += 1;
        return guard.tryEnter();
      },
    };
    const entered: number[] = [];
    const all = Array.from({ length: 50 }, async (_, at) => {
      await enterAll([counted], "it");
      entered.push(at);
      guard.leave();
    });
    expect(tries, "before anybody has paused").toBeLessThan(50);
    inside.leave();
    await Promise.all(all);
    expect(entered).toEqual(all.map((_, at) => at));
  });

  it("STORE-6: is given up by all who stand behind one that gives up", async () => {
    const [inside, guard] = [open(), open()];
    expect(inside.tryEnter()).toBe(true);
    const all = await Promise.allSettled(Array.from({ length: 5 }, () => enterAll([guard], "it", 50)));
    expect(all).toEqual(all.map(() => ({ status: "rejected", reason: expect.objectContaining(UNAVAILABLE) })));
    inside.leave();
    await enterAll([guard], "it", 50);
    guard.leave();
  });

  it("is free again when the one inside is gone", () => {
    const [one, other] = [open(), open()];
    expect(one.tryEnter()).toBe(true);
    one.close();
    expect(other.tryEnter()).toBe(true);
  });

  it("is the file the path names: one that was deleted and made anew lets no two in", () => {
    const old = open();
    rmSync(join(dir, "guard"));
    const fresh = open();
    expect(fresh.tryEnter()).toBe(true);
    expect(old.tryEnter()).toBe(false);
    expect(old.tryEnter()).toBe(false);
    fresh.leave();
    expect(old.tryEnter()).toBe(true);
    expect(fresh.tryEnter()).toBe(false);
  });

  it("comes back with its folder, if somebody took that away", () => {
    const guard = open("deep/er/guard");
    rmSync(join(dir, "deep"), { recursive: true });
    expect(guard.tryEnter()).toBe(false);
    expect(guard.tryEnter()).toBe(true);
  });

  it("that was closed is E_STORE_UNAVAILABLE, one that cannot be made E_IO", () => {
    const guard = open();
    guard.close();
    guard.close();
    expect(() => guard.tryEnter()).toThrow(expect.objectContaining({ code: "E_STORE_UNAVAILABLE" }));
    writeFileSync(join(dir, "file"), "");
    expect(() => open("file/guard")).toThrow(expect.objectContaining({ code: "E_IO" }));
  });
});

describe("several guards", () => {
  it("are entered all or none", () => {
    const [a, b, c] = [open("a"), open("b"), open("c")];
    const other = open("b");
    expect(other.tryEnter()).toBe(true);
    expect(tryEnterAll([a, b, c])).toBe(false);
    expect(open("a").tryEnter()).toBe(true);
    other.leave();
    expect(tryEnterAll([b, c])).toBe(true);
    expect(open("c").tryEnter()).toBe(false);
    leaveAll([b, c]);
    expect(open("c").tryEnter()).toBe(true);
  });

  it("keep none when one of them fails", () => {
    const [a, broken] = [open("a"), open("b")];
    broken.close();
    expect(() => tryEnterAll([a, broken])).toThrow();
    expect(open("a").tryEnter()).toBe(true);
  });

  it("are waited for without keeping one while waiting for another", async () => {
    const [a, b] = [open("a"), open("b")];
    const [otherA, otherB] = [open("a"), open("b")];
    expect(otherB.tryEnter()).toBe(true);
    const entering = enterAll([a, b], "both");
    await new Promise((resolve) => setTimeout(resolve, 5));
    let isAFree = false;
    for (let times = 0; times < 1_000 && !isAFree; times += 1) isAFree = otherA.tryEnter();
    expect(isAFree).toBe(true);
    otherA.leave();
    otherB.leave();
    await entering;
    expect(otherA.tryEnter()).toBe(false);
  });

  it("STORE-6: whoever cannot enter for five seconds gets E_STORE_UNAVAILABLE, to be tried again", async () => {
    vi.useFakeTimers();
    const [one, other] = [open(), open()];
    expect(one.tryEnter()).toBe(true);
    const outcome = enterAll([other], "the store").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(5_100);
    expect(await outcome).toMatchObject({ code: "E_STORE_UNAVAILABLE", retryable: true });
  });

  it("are waited for longer where a turn may take longer", async () => {
    vi.useFakeTimers();
    const taken: Guard = { tryEnter: () => false, leave: () => undefined, close: () => undefined };
    let outcome: unknown = "waits";
    const entering = enterAll([taken], "a folder on a slow disk", 7_000).catch((error: unknown) => {
      outcome = error;
    });
    await vi.advanceTimersByTimeAsync(6_000);
    expect(outcome).toBe("waits");
    await vi.advanceTimersByTimeAsync(1_200);
    await entering;
    expect(outcome).toMatchObject({ code: "E_STORE_UNAVAILABLE" });
  });
});
