import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { Policies } from "../../../src/policy.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { dropPostgresStore, newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const MAP = { ids: { project: "alpha", map: "m1" } };

interface Place extends AsyncDisposable {
  readonly store: string;
}

async function newPlace(kind: string): Promise<Place> {
  if (kind === "postgres") {
    const server = await sharedServer();
    const store = await newPostgresStore(server);
    return { store, [Symbol.asyncDispose]: async () => dropPostgresStore(server, store) };
  }
  const folder = mkdtempSync(join(tmpdir(), "holdfast-policy-"));
  const store = kind === "memory" ? `memory:${randomUUID()}` : `${kind}:${join(folder, "store")}`;
  return { store, [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }) };
}

class Office {
  readonly #store = `memory:${randomUUID()}`;
  readonly #open: Holdfast[] = [];

  async enter(owner: string): Promise<Holdfast> {
    const holdfast = await openHoldfast({ store: this.#store, owner });
    this.#open.push(holdfast);
    return holdfast;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const holdfast of this.#open) await holdfast.close();
  }
}

const held = async (holdfast: Holdfast): Promise<string[]> =>
  (await holdfast.list()).map(({ resource, mode }) => `${mode} ${resource}`);

describe("POL-2: performing an operation", () => {
  it("holds exactly its locks while it runs, and releases them when it is done or fails", async () => {
    await using office = new Office();
    const agent = await office.enter("agent:a");
    const policies = new Policies();
    const during = await policies.perform(agent, "map.calibrate", MAP, () => held(agent));
    expect(during).toEqual(["write project:alpha/map:m1"]);
    expect(await held(agent)).toEqual([]);
    const failure = new Error("no");
    const failing = policies.perform(agent, "map.view", MAP, () => Promise.reject(failure));
    await expect(failing).rejects.toBe(failure);
    expect(await held(agent)).toEqual([]);
  });

  it("takes several locks together, all or none", async () => {
    await using office = new Office();
    const [agent, other] = [await office.enter("agent:a"), await office.enter("agent:b")];
    const policies = new Policies({
      operations: {
        "map.move": {
          about: "move a map into another project",
          locks: [
            { key: "project:{to}", mode: "write" },
            { key: "project:{from}/map:{map}", mode: "write" },
          ],
        },
      },
    });
    const ids = { from: "alpha", map: "m1", to: "beta" };
    const during = await policies.perform(agent, "map.move", { ids }, () => held(agent));
    expect(during).toEqual(["write project:alpha/map:m1", "write project:beta"]);
    const inTheWay = await other.acquire("project:alpha");
    const refused = policies.perform(agent, "map.move", { ids, wait: 0 }, () => expect.unreachable());
    await expect(refused).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await inTheWay.release();
    expect(await held(agent)).toEqual([]);
  });

  it("POL-3: runs nothing and takes nothing when it cannot tell", async () => {
    await using office = new Office();
    const agent = await office.enter("agent:a");
    const unclear = new Policies().perform(agent, "map.paint", MAP, () => expect.unreachable());
    await expect(unclear).rejects.toMatchObject({ code: "E_POLICY_UNKNOWN" });
    const local = new Policies({ deployment: "multi-node" }).perform(agent, "map.view", MAP, () =>
      expect.unreachable(),
    );
    await expect(local).rejects.toMatchObject({ code: "E_CONFIG" });
    const refusals = await agent.audit.list();
    expect(refusals.map(({ event, resource, details }) => [event, resource, details])).toEqual([
      ["refused", "policy", { code: "E_POLICY_UNKNOWN", operation: "map.paint", ids: MAP.ids }],
    ]);
  });
});

describe.each(["memory", "file", "sqlite", "postgres"])("AUDIT-1: what the policy refuses (%s)", (kind) => {
  it("is on record in the chain of the policy, whatever it was called", async () => {
    await using place = await newPlace(kind);
    const holdfast = await openHoldfast({ store: place.store, owner: "agent:a", heart: "loop" });
    const odd = `nothing "known"\n\u0000 ${"x".repeat(10_000)}`;
    for (const [operation, ids] of [
      [odd, { [odd]: odd }],
      ["map.view", { project: "alpha" }],
      ["map.delete", MAP.ids],
    ] as const)
      await new Policies().perform(holdfast, operation, { ids }, () => expect.unreachable()).catch(() => undefined);
    await expect(new Policies().begin(holdfast, "map.delete", MAP)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    const entries = await holdfast.audit.list({ resource: "policy" });
    expect(entries.map(({ event, owner, details }) => [event, owner, details.code, details.ids])).toEqual([
      ["refused", "agent:a", "E_POLICY_UNKNOWN", { [odd.slice(0, 200)]: odd.slice(0, 200) }],
      ["refused", "agent:a", "E_POLICY_AMBIGUOUS", { project: "alpha" }],
      ["refused", "agent:a", "E_FORBIDDEN", MAP.ids],
      ["refused", "agent:a", "E_FORBIDDEN", MAP.ids],
    ]);
    expect(await holdfast.audit.verify()).toMatchObject({ ok: true });
    expect(await held(holdfast)).toEqual([]);
    await holdfast.close();
  });
});

describe("POL-4: what cannot be undone", () => {
  const policies = new Policies();
  const remove = (holdfast: Holdfast, approval?: string): Promise<string> =>
    policies.perform(holdfast, "map.delete", { ...MAP, ...(approval === undefined ? {} : { approval }) }, () => "gone");

  it("happens once for each approval of a person, and each is on record", async () => {
    await using office = new Office();
    const [agent, ann] = [await office.enter("agent:a"), await office.enter("user:ann")];
    await expect(remove(agent)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    const { token } = await policies.approve(ann, "map.delete", MAP, { reason: "old" });
    expect(await remove(agent, token)).toBe("gone");
    await expect(remove(agent, token)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    const entries = await agent.audit.list({ resource: "approval" });
    expect(entries.map(({ event, owner }) => `${event} ${owner}`)).toEqual(["granted user:ann", "released agent:a"]);
  });

  it("is not approved by an agent, nor by an agent's own grant on the approval's key", async () => {
    await using office = new Office();
    const agent = await office.enter("agent:a");
    await expect(policies.approve(agent, "map.delete", MAP)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    const forged = await agent.acquire("approval/map.delete/project:alpha/map:m1", { detached: true });
    await expect(remove(agent, forged.token)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
  });

  it("is not covered by an approval of something else, or one that has run out", async () => {
    await using office = new Office();
    const [agent, ann] = [await office.enter("agent:a"), await office.enter("user:ann")];
    const other = await policies.approve(ann, "map.delete", { ids: { project: "alpha", map: "m2" } });
    await expect(remove(agent, other.token)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    const short = await policies.approve(ann, "map.delete", MAP, { ttl: "1s" });
    while (Date.parse(short.record.lease_expires_at) >= Date.now() - 50) await sleep(50);
    await expect(remove(agent, short.token)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    await expect(policies.approve(ann, "map.view", MAP)).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT" });
  });

  it("is approved in whatever order the ids are given", async () => {
    await using office = new Office();
    const [agent, ann] = [await office.enter("agent:a"), await office.enter("user:ann")];
    const { token, record } = await policies.approve(ann, "map.delete", { ids: { map: "m1", project: "alpha" } });
    expect(record.resource).toBe("approval/map.delete/project:alpha/map:m1");
    expect(await remove(agent, token)).toBe("gone");
  });

  // kills: policy-approval-first
  it("is refused before anything is locked or waited for", async () => {
    await using office = new Office();
    const [agent, ann] = [await office.enter("agent:a"), await office.enter("user:ann")];
    await using _inTheWay = await ann.acquire("project:alpha");
    for (const approval of [{}, { approval: "of nobody" }]) {
      const asked = { ...MAP, ...approval, wait: 0 };
      await expect(policies.begin(agent, "map.delete", asked)).rejects.toMatchObject({ code: "E_FORBIDDEN" });
      const trying = policies.perform(agent, "map.delete", asked, () => "gone");
      await expect(trying).rejects.toMatchObject({ code: "E_FORBIDDEN" });
    }
  });

  it("is not used up by a try that did not get its locks", async () => {
    await using office = new Office();
    const [agent, ann] = [await office.enter("agent:a"), await office.enter("user:ann")];
    const { token } = await policies.approve(ann, "map.delete", MAP);
    const inTheWay = await ann.acquire("project:alpha");
    const trying = policies.perform(agent, "map.delete", { ...MAP, approval: token, wait: 0 }, () => "gone");
    await expect(trying).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
    await inTheWay.release();
    expect(await remove(agent, token)).toBe("gone");
  });
});
