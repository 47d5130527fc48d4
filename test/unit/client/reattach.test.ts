/** Taking a detached grant up again, presenting tokens, and waiting without taking. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { codeOf } from "../../fixtures/error-code.fixture.js";

let one: Holdfast;
let two: Holdfast;
beforeEach(async () => {
  const store = `memory:${randomUUID()}`;
  one = await openHoldfast({ store, owner: "agent:one" });
  two = await openHoldfast({ store, owner: "agent:two" });
});
afterEach(async () => {
  await two.close();
  await one.close();
});

describe("reattach", () => {
  it("CLI-3: renews, converts and releases a detached grant from anywhere that has the token", async () => {
    const { token } = await one.acquire("a", { detached: true, mode: "upgradeable" });
    const lease = await two.reattach("a", token);
    await lease.renew("2h");
    expect(lease.grants[0]).toMatchObject({ lease_duration_s: 7200, mode: "upgradeable" });
    await lease.upgrade();
    expect(lease.grants[0]?.mode).toBe("write");
    await lease.downgrade();
    await lease.release();
    expect(await codeOf(lease.release())).toBe("E_LOCK_NOT_HELD");
    expect((await one.inspect("a")).state).toBe("free");
  });

  // kills: reattach-detached-only
  it("LOCK-10: what a live process holds is its own, also with its token", async () => {
    const { token } = await one.acquire("a");
    expect(await codeOf(two.reattach("a", token))).toBe("E_LOCK_NOT_HELD");
    expect(await codeOf(two.reattach("a", "hf_wrong"))).toBe("E_LOCK_NOT_HELD");
  });
});

describe("presenting", () => {
  it("LOCK-3: nests in what the token holds, also far away", async () => {
    const { token, fencingToken } = await one.acquire("a", { detached: true });
    const inner = await two.acquire("a/b", { presenting: [token], wait: 0 });
    expect(inner.fencingToken).toBe(fencingToken);
    expect(await codeOf(two.acquire("a/b", { wait: 0 }))).toBe("E_LOCK_CONFLICT");
  });

  // kills: presented-token-checked
  it("LOCK-12: a token that holds nothing does not get ahead of the line", async () => {
    const reader = await one.acquire("a", { mode: "read" });
    const writer = one.acquire("a", { wait: "1h" });
    while ((await one.inspect("a")).waiters.length === 0);
    expect(await codeOf(two.acquire("a", { mode: "read", presenting: ["hf_forged"], wait: 0 }))).toBe(
      "E_LOCK_NOT_HELD",
    );
    await reader.release();
    await (await writer).release();
  });

  it("keepToken gets the token before the store is asked, and what it throws stops the request", async () => {
    const refused = one.acquire("a", {
      keepToken: () => {
        throw new Error("no room");
      },
    });
    await expect(refused).rejects.toThrow("no room");
    expect((await one.inspect("a")).state).toBe("free");
  });
});

describe("untilFree", () => {
  it("waits for holders of the mode asked for, and takes nothing", async () => {
    const reader = await one.acquire("a/b", { mode: "read" });
    await two.untilFree("a", { mode: "read", wait: 0 });
    expect(await codeOf(two.untilFree("a", { wait: 0 }))).toBe("E_LOCK_CONFLICT");
    expect(await codeOf(two.untilFree("a", { wait: 20 }))).toBe("E_LOCK_TIMEOUT");
    const free = two.untilFree("a", { wait: "1h" });
    await reader.release();
    await free;
    expect(await one.list()).toEqual([]);
  });

  it("stops when it is told to, and when the workplace closes", async () => {
    await one.acquire("a");
    const stop = new AbortController();
    const stopped = codeOf(two.untilFree("a", { wait: "1h", signal: stop.signal }));
    stop.abort(Object.assign(new Error("enough"), { code: "STOP" }));
    expect(await stopped).toBe("STOP");
    const closed = codeOf(two.untilFree("a", { wait: "1h" }));
    await two.close();
    expect(await closed).toBe("E_INVALID_ARGUMENT");
  });
});
