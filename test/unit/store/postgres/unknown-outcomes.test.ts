import { describe, expect, it } from "vitest";
import { type Orphan, UnknownOutcomes } from "../../../../src/store/postgres/connection/unknown-outcomes.js";
import { acquireRequest } from "../../../fixtures/store/acquire-request.fixture.js";

const open = () =>
  new UnknownOutcomes(({ wants, tokenHash }) =>
    wants.map(({ resource }) => ({ resource, lockId: tokenHash, tokenHash })),
  );

function takeAll(unknown: UnknownOutcomes): readonly Orphan[][] {
  const taken: Orphan[][] = [];
  for (let some = unknown.takeOrphans(); some.length > 0; some = unknown.takeOrphans()) taken.push([...some]);
  return taken;
}

describe("requests of which nobody knows how they ended", () => {
  it("STORE-6: are released a few at a time, and of very many the latest", () => {
    const unknown = open();
    for (let at = 0; at < 1_500; at += 1) unknown.add(acquireRequest("k", { tokenHash: `${at}` }));
    const taken = takeAll(unknown);
    expect(Math.max(...taken.map(({ length }) => length))).toBeLessThan(10);
    const hashes = taken.flat().flatMap(({ refs }) => refs.map(({ tokenHash }) => tokenHash));
    expect([hashes.length, hashes.at(0), hashes.at(-1)]).toEqual([1_000, "500", "1499"]);
  });

  it("STORE-6: are asked about again by those who wait, and released once they give up", () => {
    const unknown = open();
    const request = acquireRequest("k", { ticketId: "t1" });
    unknown.add(request);
    expect([unknown.has(request), takeAll(unknown)]).toEqual([true, []]);
    unknown.left("t1");
    expect([unknown.has(request), takeAll(unknown).flat().length]).toEqual([false, 1]);
  });
});
