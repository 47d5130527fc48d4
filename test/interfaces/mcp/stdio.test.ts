/** MCP-1 and MCP-2 with real servers: a process for each agent, as clients start them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBoard } from "../../../src/features/board/board.js";
import { type Agent, PATIENTLY, Scene, type StartedAgent } from "./mcp.fixture.js";

const SERVERS = 10;
const ROUNDS = 2;
const ISSUES = 10;

let scene: Scene;
let agents: StartedAgent[];

beforeAll(async () => {
  scene = new Scene();
  const started = Array.from({ length: SERVERS }, (_, at) =>
    scene.stdio(`agent ${at}`, at % 2 === 0 ? "2025-11-25" : "2026-07-28"),
  );
  agents = await Promise.all(started);
});
afterAll(() => scene.close());

describe("MCP-2: ten servers over one workspace", () => {
  it("speak the revision of their client", () => {
    const spoken = agents.slice(0, 2).map(({ client }) => client.getNegotiatedProtocolVersion());
    expect(spoken).toEqual(["2025-11-25", "2026-07-28"]);
  });

  it("agents that count in one file under its lock lose nothing", async () => {
    const file = join(scene.root, "count");
    writeFileSync(file, "0");
    const tokens: number[] = [];
    const count = async (agent: Agent): Promise<void> => {
      for (let round = 0; round < ROUNDS; ) {
        const { data } = await agent.call("lock_acquire", { paths: ["count"], wait_s: 50 });
        if (data.ok) {
          const seen = Number(readFileSync(file, "utf8"));
          await setImmediate();
          writeFileSync(file, String(seen + 1));
          tokens.push(data.grants[0].fencing_token);
          await agent.data("lock_release", { paths: ["count"] });
          round += 1;
        } else expect(data.error.code).toBe("E_LOCK_TIMEOUT");
      }
    };
    await Promise.all(agents.map(count));
    expect(Number(readFileSync(file, "utf8"))).toBe(SERVERS * ROUNDS);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it("agents that work off one board claim every issue once, and close all", async () => {
    const library = await scene.library("user:ann");
    const board = openBoard(library, join(scene.root, ".holdfast", "board"));
    for (let at = 0; at < ISSUES; at++) await board.add({ title: `issue ${at}` });
    const claimed: string[] = [];
    const work = async (agent: Agent): Promise<void> => {
      for (;;) {
        const { claimed: got, issue } = await agent.data("issue_claim");
        if (!got) return;
        claimed.push(issue.id);
        await agent.data("issue_update", { id: issue.id, state: "done" });
      }
    };
    await Promise.all(agents.map(work));
    expect(claimed.length).toBe(new Set(claimed).size);
    expect((await board.list({ state: ["done"] })).total).toBe(ISSUES);
    expect(await library.list()).toEqual([]);
    expect((await library.audit.verify()).bad).toEqual([]);
  });
});

/** One that goes, and one that stays. */
function twoOf(all: StartedAgent[]): readonly [StartedAgent, StartedAgent] {
  const [goes, stays] = [all.pop(), all[0]];
  if (goes === undefined || stays === undefined) throw new Error("too few agents");
  return [goes, stays];
}

describe("MCP-1: an agent that is gone", () => {
  it("has given back what it held when it left", async () => {
    const [leaver, other] = twoOf(agents);
    const library = await scene.library("user:ann");
    await other.data("issue_add", { title: "begun" });
    await leaver.data("lock_acquire", { paths: ["left.ts"], keys: ["left"] });
    const { issue } = await leaver.data("issue_claim");
    await leaver.client.close();
    const held = async (): Promise<number> => (await library.list()).length;
    await expect.poll(held, PATIENTLY).toBe(0);
    expect((await other.data("issue_show", { id: issue.id })).issue).toMatchObject({ state: "ready", claim: null });
  });

  // kills: mcp-killed
  it("is not waited for when its server was killed", async () => {
    const [victim, other] = twoOf(agents);
    await other.data("issue_add", { title: "left behind" });
    await victim.data("lock_acquire", { paths: ["killed.ts"], ttl_s: 3600 });
    const { issue } = await victim.data("issue_claim", { ttl_s: 3600 });
    process.kill(victim.pid, "SIGKILL");
    const taken = { paths: ["killed.ts"], wait_s: 50 };
    expect(await other.data("lock_acquire", taken)).toMatchObject({ ok: true, grants: [{ key: "path/killed.ts" }] });
    expect(await other.data("issue_claim", { id: issue.id, wait_s: 50 })).toMatchObject({ claimed: true });
  });
});
