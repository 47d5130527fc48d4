/** HOOK-1 with real agents: processes that start the command for each event, race, and are killed. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openScene, type Scene } from "../../fixtures/command.fixture.js";
import { Agent } from "./agent.fixture.js";

let scene: Scene;
const agents: Agent[] = [];
beforeAll(async () => {
  scene = await openScene();
  mkdirSync(join(scene.root, "src"));
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.kill()));
  await scene.close();
});

function agent(session: string): Agent {
  const made = new Agent(scene, session);
  agents.push(made);
  return made;
}

describe("HOOK-1: agents in processes", () => {
  it("of two that ask for one file at once, one has it, until its end", async () => {
    const [one, other] = [agent("one"), agent("other")];
    const answers = await Promise.all([one.write("src/race.ts"), other.write("src/race.ts")]);
    expect(answers.map(({ exit }) => exit).sort()).toEqual([0, 2]);
    const [winner, loser] = answers[0]?.exit === 0 ? [one, other] : [other, one];
    const { grants } = await scene.inspect("path/src/race.ts");
    expect(grants.map(({ owner }) => owner)).toEqual([`agent:claude-${winner.session}`]);
    await winner.end();
    expect((await loser.write("src/race.ts")).exit).toBe(0);
  });

  // kills: hook-process
  it("a lease is the agent's, not the hook's: it outlives the hook, and not the agent", async () => {
    const [dying, heir] = [agent("dying"), agent("heir")];
    await dying.start();
    expect((await dying.write("src/left.ts")).exit).toBe(0);
    expect((await heir.write("src/left.ts")).exit).toBe(2);
    await dying.kill();
    expect(await heir.write("src/left.ts")).toMatchObject({ exit: 0, stderr: "" });
    const entries = (await scene.data(["audit", "list", "--prefix", "path/src/left.ts"])).entries;
    const stolen = entries.filter((entry: { event: string }) => entry.event === "stolen");
    expect(stolen).toHaveLength(1);
    expect(stolen[0]).toMatchObject({ owner: "agent:claude-heir" });
  });

  // kills: hook-dead-process
  it("a run that goes on in a new process takes anew what hung on the dead one", async () => {
    const first = agent("resumed");
    await first.start();
    await first.write("src/resumed.ts");
    await first.kill();
    const [second, other] = [agent("resumed"), agent("waiting")];
    expect((await second.write("src/resumed.ts")).exit).toBe(0);
    expect((await other.write("src/resumed.ts")).exit).toBe(2);
  });

  it("what an agent holds through its own MCP server is its own to write, and nobody else's", async () => {
    const [mine, other] = [agent("mine"), agent("another")];
    const pid = await mine.startServer();
    await Promise.all([mine.start(), other.start()]);
    await scene.data(["lock", "acquire", "path/src/served.ts", "--pid", String(pid), "--owner", "agent:served"]);
    expect((await mine.write("src/served.ts")).stderr).toBe("");
    expect((await other.write("src/served.ts")).stderr).toContain("agent:served holds it");
  });

  // kills: hook-git
  it("git: a commit of what another run holds is refused, and of one's own is not", async () => {
    const git = (...words: string[]) => execFileSync("git", words, { cwd: scene.root, encoding: "utf8" });
    git("init", "-q");
    expect((await agent("keeper").write("src/kept.ts")).exit).toBe(0);
    writeFileSync(join(scene.root, "src/kept.ts"), "x");
    writeFileSync(join(scene.root, "src/mine.ts"), "x");
    git("add", "src/kept.ts");
    const refused = await scene.json(["hook", "check", "git"]);
    expect(refused).toMatchObject({ exit: 75, error: { code: "E_LOCK_CONFLICT" } });
    expect(refused.error.details.contention).toMatchObject({
      resource: "path/src/kept.ts",
      owner: "agent:claude-keeper",
    });
    const own = await scene.json(["hook", "check", "git"], { env: { HOLDFAST_OWNER: "agent:claude-keeper" } });
    expect(own).toMatchObject({ ok: true, exit: 0 });
    git("rm", "-q", "--cached", "src/kept.ts");
    git("add", "src/mine.ts");
    expect((await scene.run(["hook", "check", "git"])).exit).toBe(0);
  });
});
