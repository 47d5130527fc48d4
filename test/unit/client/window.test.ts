import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HoldfastError } from "../../../src/base/errors.js";
import { withWindow } from "../../../src/client/lease/window.js";
import { openWorkplace, pass, type Workplace } from "../../fixtures/client/instance.fixture.js";

const UNAVAILABLE = new HoldfastError("E_STORE_UNAVAILABLE", "the line is cut", { reason: "unreachable" });

let place: Workplace;

beforeEach(() => {
  vi.useFakeTimers();
  place = openWorkplace();
});
afterEach(() => vi.useRealTimers());

/** What happens to the gates when the line to the store is cut while they are open, and `work` is done meanwhile. */
async function cutInside(
  work: () => Promise<void>,
): Promise<{ readonly outcome: unknown; readonly isClosed: boolean }> {
  const lease = await place.holdfast.acquire("runtime:gates", { ttl: 10_000, detached: true });
  let isClosed = false;
  const outcome = await withWindow(lease, {
    open: () => "gate",
    apply: async () => {
      await work();
      vi.spyOn(place.fence, "verify").mockRejectedValue(UNAVAILABLE);
      return "result";
    },
    close: () => {
      isClosed = true;
    },
  }).catch((error: unknown) => error);
  return { outcome, isClosed };
}

describe("a window whose store does not answer at the end", () => {
  // kills: window-unknown
  it("RUN-3: is left alone when its lease is over: the gates may be another's", async () => {
    const taken = async () => {
      await pass(11_000);
      await place.other.acquire("runtime:gates");
    };
    expect(await cutInside(taken)).toEqual({ outcome: UNAVAILABLE, isClosed: false });
  });

  it("RUN-3: is closed while its lease is trusted", async () => {
    expect(await cutInside(async () => undefined)).toEqual({ outcome: "result", isClosed: true });
  });
});
