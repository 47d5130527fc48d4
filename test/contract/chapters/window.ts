import assert from "node:assert/strict";
import { withWindow } from "../../../src/index.js";
import { LONG, refusal, shorten, untilExpired } from "../expect.fixture.js";
import type { Chapter } from "../test-store.fixture.js";

/** Gates that are open only inside a lease. */
function gates() {
  const log: string[] = [];
  return {
    log,
    window: (apply: () => unknown = () => "result") => ({
      open: () => {
        log.push("open");
        return "gate";
      },
      apply: async (gate: string) => {
        log.push(`apply ${gate}`);
        return apply();
      },
      close: (gate: string) => {
        log.push(`close ${gate}`);
      },
    }),
  };
}

export const window: Chapter = {
  async "RUN-3: the gates open inside the lease and close after the work"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("runtime:gates");
    const { log, window } = gates();
    assert.equal(await withWindow(lease, window()), "result");
    assert.deepEqual(log, ["open", "apply gate", "close gate"]);
    assert.equal(await b.tryAcquire("runtime:gates"), null);
  },

  async "RUN-3: they close when the work fails"(bench) {
    const [a] = await bench.two();
    const lease = await a.acquire("runtime:gates");
    const { log, window } = gates();
    const failure = new Error("the work failed");
    await assert.rejects(
      withWindow(
        lease,
        window(() => {
          throw failure;
        }),
      ),
      failure,
    );
    assert.deepEqual(log, ["open", "apply gate", "close gate"]);
  },

  async "RUN-3: nothing opens without a lease that is good in the store's eyes"(bench) {
    const a = await bench.client();
    const user = await bench.client({ owner: "user:ann" });
    const { log, window } = gates();
    const released = await a.acquire("runtime:gates");
    await released.release();
    await refusal(withWindow(released, window()), "E_LOCK_NOT_HELD");
    const broken = await a.acquire("runtime:gates");
    await user.break("runtime:gates", { reason: "test" });
    await refusal(withWindow(broken, window()), "E_LOCK_NOT_HELD");
    assert.deepEqual(log, []);
  },

  async "RUN-3: gates that have passed to another holder are left alone, and the caller hears of it"(bench) {
    const a = await bench.client();
    const user = await bench.client({ owner: "user:ann" });
    const lease = await a.acquire("runtime:gates");
    const { log, window } = gates();
    const work = withWindow(
      lease,
      window(async () => {
        await user.break("runtime:gates", { reason: "test" });
        await user.acquire("runtime:gates");
      }),
    );
    await refusal(work, "E_FENCING_MISMATCH");
    assert.deepEqual(log, ["open", "apply gate"]);
  },

  async "RUN-3: after a lease that merely lapsed its own gates are closed"(bench) {
    const [a, b] = await bench.two();
    const lease = await a.acquire("runtime:gates", LONG);
    const { log, window } = gates();
    await withWindow(
      lease,
      window(async () => {
        await shorten(lease);
        await untilExpired(b, "runtime:gates");
      }),
    );
    assert.deepEqual(log, ["open", "apply gate", "close gate"]);
  },

  async "RUN-3: what was lost while opening is closed without being used"(bench) {
    const a = await bench.client();
    const user = await bench.client({ owner: "user:ann" });
    const lease = await a.acquire("runtime:gates");
    const { log, window } = gates();
    const late = {
      ...window(),
      open: async () => {
        await user.break("runtime:gates", { reason: "test" });
        return "gate";
      },
    };
    await refusal(withWindow(lease, late), "E_LOCK_NOT_HELD");
    assert.deepEqual(log, ["close gate"]);
  },
};
