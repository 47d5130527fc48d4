/** Participants of one store that stand in different places of one kernel. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { openJobs } from "../../../src/jobs.js";
import { Participant } from "../../fixtures/platform/participant.fixture.js";
import {
  CONTAINER,
  EARLIER_TIME_NAMESPACE,
  MOUNTED_OVER,
  type Place,
  TIME_NAMESPACE,
} from "../../fixtures/platform/places.fixture.js";

vi.setConfig({ testTimeout: 60_000 });

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-odd-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const urlOf = (scheme: string): string => (scheme === "file" ? `file:${dir}/store` : `sqlite:${dir}/locks.db`);
const KEY = "odd/key";
const NOW = { key: KEY, wait: 0 };

const ALL = [TIME_NAMESPACE, EARLIER_TIME_NAMESPACE, MOUNTED_OVER, CONTAINER].map(
  (place) => [place.title, place] as const,
);
const WITHOUT_EARLIER = ALL.filter(([, place]) => place !== EARLIER_TIME_NAMESPACE);

describe.each(ALL)("beside %s", (_title, place) => {
  describe.runIf(place.isThere()).each(["file", "sqlite"])("on %s (needs the right to make it)", (scheme) => {
    const start = (where: Place | null, profile?: string) => Participant.start(where, dir, urlOf(scheme), profile);

    it.each([
      ["here", null, place, "strict"],
      ["there", place, null, "default"],
    ] as const)("a live holder %s keeps its lock, and a killed one loses it", async (_, at, other, profile) => {
      await using holder = await start(at, profile);
      await using challenger = await start(other, profile);
      expect(await holder.ask("acquire", { key: KEY, ttl: "5s" })).toBe("held");
      expect(await challenger.ask("acquire", NOW)).toBe("E_LOCK_CONFLICT");
      expect(await holder.ask("commit", { key: KEY })).toBe("committed");
      await holder.kill();
      expect(await challenger.ask("acquire", NOW)).toBe("held");
    });

    it("a lock that is bound to a living process is kept, wherever that is looked up", async () => {
      const bound = spawn("sleep", ["1000"]);
      onTestFinished(() => void bound.kill());
      await using holder = await start(null);
      await using challenger = await start(place);
      expect(await holder.ask("acquire", { key: KEY, detached: true, pid: bound.pid, ttl: "20s" })).toBe("held");
      expect(await challenger.ask("acquire", NOW)).toBe("E_LOCK_CONFLICT");
      expect(await challenger.ask("state", NOW)).toBe("held");
    });
  });
});

describe.each(WITHOUT_EARLIER)("in turn with %s", (_title, place) => {
  describe.runIf(place.isThere()).each(["file", "sqlite"])("on %s (needs the right to make it)", (scheme) => {
    const start = (where: Place | null) => Participant.start(where, dir, urlOf(scheme));

    it("a waiter there and one here are served in the order in which they came", async () => {
      await using holder = await start(null);
      await using there = await start(place);
      await using here = await start(null);
      expect(await holder.ask("acquire", NOW)).toBe("held");
      const first = there.ask("acquire", { key: KEY, wait: "30s" });
      await sleep(500);
      const second = here.ask("acquire", { key: KEY, wait: "30s" });
      await sleep(2_500); // Longer than a place lasts that is not refreshed.
      const order: string[] = [];
      void first.then(() => order.push("there"));
      void second.then(() => order.push("here"));
      await holder.ask("release", { key: KEY });
      expect(await first).toBe("held");
      await sleep(500);
      expect(order).toEqual(["there"]);
      await there.ask("release", { key: KEY });
      expect(await second).toBe("held");
    });
  });

  // kills: job-own-epoch
  it.runIf(place.isThere())(
    "a job that runs here is not begun there, nor the other way round (needs the right to make it)",
    async () => {
      const url = urlOf("sqlite");
      await using holdfast = await openHoldfast({ store: url, owner: "user:test", profiles: { odd: "default" } });
      const jobs = openJobs(holdfast);
      const file = join(dir, "begun");
      const begun = (): string[] => readFileSync(file, "utf8").trim().split("\n");
      writeFileSync(file, "");
      await using here = await Participant.start(null, dir, url);
      await using there = await Participant.start(place, dir, url);
      const ids = [
        await jobs.enqueue("slow", null, { project: "p" }),
        await jobs.enqueue("slow", null, { project: "p" }),
      ];
      await here.ask("work", { file });
      await expect.poll(begun, { timeout: 20_000 }).toHaveLength(1);
      await there.ask("work", { file });
      await expect.poll(begun, { timeout: 20_000 }).toHaveLength(2);
      await sleep(5_000); // Longer than their leases, with what is added for clocks that differ.
      writeFileSync(`${file}.go`, "");
      for (const { id } of ids)
        expect(await jobs.wait(id, { timeoutMs: 20_000 })).toMatchObject({ state: "done", attempts: 1 });
      expect(begun()).toHaveLength(2);
    },
  );
});
