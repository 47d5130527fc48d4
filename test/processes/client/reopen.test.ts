/** Processes that open and close the store while others use it. */
import { describe, expect, it } from "vitest";
import { expectSoundHistory } from "../../fixtures/client/audit-history.fixture.js";
import { PATIENTLY, Scene, STORES } from "../../fixtures/client/processes.fixture.js";

const RUN_MS = 1_200;

describe.each(STORES)("opening and closing (%s)", PATIENTLY, (kind) => {
  it("STORE-6: whoever opens or closes the store disturbs nobody who uses it, on one tree or on several", async () => {
    await using scene = new Scene(kind);
    const [one, two, three, four] = await scene.startMany(4);
    const options = { holdMs: 0, forMs: RUN_MS, atLeast: 2, wait: "1m" } as const;
    const [first, second, opened, openedToo] = await Promise.all([
      one?.loop(["a/x", "b/y"], options),
      two?.loop(["b/y", "c/z"], options),
      three?.call("reopen", "a/x", RUN_MS),
      four?.call("reopen", ["a/w", "c/z"], RUN_MS),
    ]);
    expect(first?.length).toBeGreaterThan(1);
    expect(second?.length).toBeGreaterThan(1);
    expect(opened).toBeGreaterThan(1);
    expect(openedToo).toBeGreaterThan(1);
    await expectSoundHistory(await scene.open());
  });

  it("STORE-6: the last one to close and the next one to open do not meet badly", async () => {
    await using scene = new Scene(kind);
    const clients = await scene.startMany(3);
    const times = await Promise.all(clients.map((client) => client.call("reopen", "work", RUN_MS)));
    for (const count of times) expect(count).toBeGreaterThan(1);
    await expectSoundHistory(await scene.open());
  });

  it.skipIf(process.platform !== "linux")(
    "LIB-1: closing while the heart beats, with the store under load, leaves nothing open and nothing broken (needs Linux)",
    async () => {
      await using scene = new Scene(kind);
      const [one, two, noise] = await scene.startThree();
      const keys = (name: string): string[] => Array.from({ length: 8 }, (_, at) => `beating/${name}-${at}`);
      await one.call("reopenBeating", keys("warm-up"), 500);
      const before = (await one.call("reopenBeating", [], 0)) as { openFiles: string[] };
      const [after] = (await Promise.all([
        one.call("reopenBeating", keys("one"), 1_500),
        two.call("reopenBeating", keys("two"), 1_500),
        noise.loop("beating/noise", { holdMs: 0, forMs: 1_500, wait: "1m" }),
      ])) as [{ times: number; openFiles: string[] }, unknown, unknown];
      expect(after.times).toBeGreaterThan(1);
      // SQLite's driver lets go of a closed database's files when the thread that had it next collects its garbage, which
      // an idle heart thread may put off.
      if (kind === "file")
        expect(after.openFiles.length, after.openFiles.join("\n")).toBeLessThanOrEqual(before.openFiles.length + 4);
    },
  );
});
