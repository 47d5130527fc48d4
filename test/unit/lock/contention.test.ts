import { describe, expect, it } from "vitest";
import { contentionReport } from "../../../src/lock/contention.js";
import { grant, key, moment, ticket, want } from "../../fixtures/lock/samples.fixture.js";

describe("the contention report", () => {
  const holders = [
    grant("a/x", "read", { owner: "agent:one", leaseMs: 4_200, fencingToken: 7 }),
    grant("a/y", "write", { owner: "agent:two", leaseMs: 1_100 }),
  ];

  it("LOCK-14: tells the first holder, all of them, and how many wait", () => {
    const report = contentionReport(key("a"), holders, [ticket(1, [want("a")])], moment(100));
    expect(report).toEqual({
      type: "LOCK_CONTENTION",
      resource: "a",
      holder: "host:user:1:1",
      owner: "agent:one",
      mode: "read",
      lease_remaining_s: 5,
      contention_time: "1970-01-01T00:16:40.100Z",
      queue_length: 1,
      retry_after_ms: 1_000,
      holders: [
        expect.objectContaining({ resource: "a/x", owner: "agent:one", fencing_token: 7, lease_remaining_s: 5 }),
        expect.objectContaining({ resource: "a/y", owner: "agent:two", lease_remaining_s: 1 }),
      ],
    });
  });

  it("LOCK-14: comes back no sooner than 50 ms and no later than 5 s", () => {
    const retryAfter = (ms: number) => contentionReport(key("a"), holders, [], moment(ms)).retry_after_ms;
    expect(retryAfter(1_099)).toBe(50);
    expect(retryAfter(99_999)).toBe(50);
    expect(contentionReport(key("a"), [grant("a")], [], moment(0)).retry_after_ms).toBe(5_000);
    expect(contentionReport(key("a"), [], [], moment(0)).retry_after_ms).toBe(5_000);
  });

  it("LOCK-12, LOCK-14: when only the line is in the way it names the first in line and no holder", () => {
    const report = contentionReport(key("a"), [], [ticket(3, [want("a")]), ticket(4, [want("a")])], moment(0));
    expect(report).toMatchObject({ holder: null, owner: "agent:waiter", mode: null, queue_length: 2, holders: [] });
  });

  it("LOCK-14: a deliverable is named by its id, nothing else has one", () => {
    expect(contentionReport(key("deliverable:DEL-08-05"), [], [], moment(0)).deliverable_id).toBe("DEL-08-05");
    expect(contentionReport(key("issue:42"), [], [], moment(0))).not.toHaveProperty("deliverable_id");
  });
});
