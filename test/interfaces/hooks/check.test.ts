/** HOOK-1: a run holds what it writes; others are refused with the report; activity renews, the end gives back. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { AgentClient } from "../../../src/agents/hooks/call.js";
import { type Checked, checkHook } from "../../../src/agents/hooks/check.js";
import { RunLocks, type RunPlace } from "../../../src/agents/run/run-locks.js";
import { acquireDetached } from "../../../src/client/workspace/detached-grants.js";
import { openTokenFiles } from "../../../src/client/workspace/token-files.js";
import { type TokenFolder, tokenFolder } from "../../../src/client/workspace/token-folder.js";
import { type Holdfast, openHoldfast, pathKey } from "../../../src/index.js";
import { parseKey } from "../../../src/lock/key.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";

let dir: string;
let root: string;
let library: Holdfast;
let env: NodeJS.ProcessEnv;
let folder: TokenFolder;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-hook-"));
  root = join(dir, "workspace");
  mkdirSync(join(root, "src"), { recursive: true });
  markWorkspace(root);
  env = { XDG_STATE_HOME: join(dir, "state") };
  library = await openHoldfast({ root, owner: "user:test", heart: "loop" });
  folder = tokenFolder(root, env, library.storeUrl);
});
afterAll(async () => {
  await library?.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Told {
  readonly agent?: string;
  readonly client?: AgentClient;
  readonly env?: NodeJS.ProcessEnv;
  readonly ttl?: string;
  readonly wait?: string;
  readonly cwd?: string;
}

function tell(session: string, event: object, { agent, client = "claude", ttl, wait, cwd = root, ...more }: Told = {}) {
  const input = JSON.stringify({ session_id: session, ...(agent ? { agent_id: agent } : {}), cwd, ...event });
  return checkHook({ client, input, env: { ...env, ...more.env }, cwd: root, ttl, wait });
}

const write = (session: string, file: string, told?: Told): Promise<Checked> =>
  tell(session, { hook_event_name: "PreToolUse", tool_name: "Write", tool_input: { file_path: file } }, told);
const shell = (session: string, command: string, told?: Told): Promise<Checked> =>
  tell(session, { hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command } }, told);
const event = (session: string, hook_event_name: string, told?: Told): Promise<Checked> =>
  tell(session, { hook_event_name }, told);

async function owners(key: string): Promise<string[]> {
  return (await library.inspect(key)).grants.filter(({ resource }) => resource === key).map(({ owner }) => owner);
}

describe("HOOK-1: a file is one run's", () => {
  it("is taken when it is free, kept by the same run, and refused to another with the contention report", async () => {
    expect((await write("one", join(root, "src/a.ts"))).stderr).toBe("");
    expect((await write("one", "src/../src/a.ts")).exit).toBe(0);
    const { exit, stdout, stderr } = await write("two", "src/a.ts");
    expect([exit, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("agent:claude-one holds it");
    const report = JSON.parse(/^LOCK_CONTENTION (.*)$/m.exec(stderr)?.[1] ?? "");
    expect(report).toMatchObject({ type: "LOCK_CONTENTION", resource: "path/src/a.ts", owner: "agent:claude-one" });
    expect(report.retry_after_ms).toBeGreaterThan(0);
    expect(await owners("path/src/a.ts")).toEqual(["agent:claude-one"]);
  });

  it("goes by the file and not by its spelling, and the hook leaves what is outside the workspace alone", async () => {
    symlinkSync("src", join(root, "link"));
    await write("one", "src/b.ts");
    expect((await write("two", "link/b.ts")).exit).toBe(2);
    expect((await write("two", "b.ts", { cwd: join(root, "src") })).exit).toBe(2);
    expect((await write("two", join(dir, "elsewhere.ts"))).exit).toBe(0);
    expect((await write("two", "../outside.ts")).exit).toBe(0);
    expect((await library.list()).filter(({ owner }) => owner === "agent:claude-two")).toEqual([]);
  });

  it("is the same for every client", async () => {
    const patch = { command: "*** Begin Patch\n*** Update File: src/a.ts\n*** Add File: src/fresh.ts\n*** End Patch" };
    const before = { hook_event_name: "PreToolUse", tool_name: "apply_patch", tool_input: patch };
    expect((await tell("c", before, { client: "codex" })).exit).toBe(2);
    expect(await owners("path/src/fresh.ts")).toEqual([]);
    const gemini = { hook_event_name: "BeforeTool", tool_name: "replace", tool_input: { file_path: "src/a.ts" } };
    expect((await tell("g", gemini, { client: "gemini" })).exit).toBe(2);
    const cursor = { hook_event_name: "beforeShellExecution", command: "rm src/a.ts" };
    expect(JSON.parse((await tell("k", cursor, { client: "cursor" })).stdout)).toMatchObject({ permission: "deny" });
  });

  it("a folder is not free while somebody has a file in it, and the other way round", async () => {
    await write("one", "deep/in/a.ts");
    expect((await shell("two", "rm -rf deep")).exit).toBe(2);
    expect((await shell("one", "rm -rf deep")).exit).toBe(0);
    expect((await write("two", "deep/new.ts")).exit).toBe(2);
    expect((await write("one", "deep/new.ts")).exit).toBe(0);
  });

  it("what changes files all over the tree is refused while another run holds one, and takes nothing", async () => {
    expect((await shell("three", "git reset --hard")).stderr).toContain("path is not free");
    await event("one", "SessionEnd");
    await write("three", "src/own.ts");
    expect((await shell("three", "git reset --hard && cp -r ../template .")).exit).toBe(0);
    expect(await owners("path")).toEqual([]);
    expect((await write("four", "src/else.ts")).exit).toBe(0);
    for (const run of ["three", "four"]) await event(run, "SessionEnd");
  });

  // kills: hook-pattern-above
  it("a pattern or a command over folders that starts above the workspace may mean any file in it", async () => {
    const reaching = [
      "sed -i s/a/b/ ../*/src/a.ts",
      "rm -rf ../{out,workspace}",
      "git checkout -- ..",
      "git rm -r ..",
      "find .. -name '*.o' -delete",
      'echo "$(cd .. && patch -p1 < fix.diff)"',
      "sudo -u ann tar xf ../a.tar",
    ];
    await write("one", "src/a.ts");
    for (const line of reaching) expect((await shell("two", line)).stderr).toContain("path is not free");
    await event("one", "SessionEnd");
    for (const line of reaching) expect((await shell("two", line)).stderr).toBe("");
    expect(await owners("path")).toEqual([]);
  });

  it("hooks of one run that ask at once do not refuse each other", async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => write("busy", "src/parallel.ts")));
    expect(answers.map(({ stderr }) => stderr)).toEqual(Array(6).fill(""));
    await event("busy", "SessionEnd");
    expect(await owners("path/src/parallel.ts")).toEqual([]);
  });

  // kills: hook-waits-for-itself
  it("hooks of one run that ask at once do not wait for each other, either", async () => {
    const waiting = { wait: "2m" };
    const files = ["src/both.ts", "src/one.ts"];
    await write("stranger", "src/both.ts");
    const asked = files.map((file) => shell("busy", `touch src/both.ts ${file}`, waiting));
    await expect.poll(async () => (await library.inspect("path/src/both.ts")).waiters).toHaveLength(2);
    await event("stranger", "SessionEnd");
    const begun = performance.now();
    expect((await Promise.all(asked)).map(({ stderr }) => stderr)).toEqual(["", ""]);
    expect(performance.now() - begun).toBeLessThan(60_000);
    await event("busy", "SessionEnd");
    for (const file of files) expect(await owners(`path/${file}`)).toEqual([]);
  });

  // kills: hook-passes-siblings
  it("hooks of one run that change files all over the tree at once do not refuse each other", async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => shell("busy", "git reset --hard")));
    expect(answers.map(({ stderr }) => stderr)).toEqual(Array(6).fill(""));
    expect(await owners("path")).toEqual([]);
  });
});

describe("HOOK-1: the life of a run", () => {
  it("activity renews what is held, and the end gives everything back", async () => {
    await write("alive", "src/x.ts", { ttl: "1h" });
    await write("alive", "src/y.ts", { ttl: "1h" });
    const grant = async () => (await library.inspect("path/src/x.ts")).grants[0];
    const before = (await grant())?.last_renewed_at;
    await event("alive", "PostToolUse");
    expect((await grant())?.last_renewed_at).toBe(before);
    await event("alive", "SessionEnd");
    expect(await owners("path/src/x.ts")).toEqual([]);
    expect(await owners("path/src/y.ts")).toEqual([]);
    expect(readdirSync(folder.path).filter((name) => !name.startsWith("run-"))).toEqual([]);
  });

  it("renews what is not fresh any more, and keeps its number", async () => {
    const run = { owner: "agent:claude-slow", main: "agent:claude-slow", around: [] };
    const holdfast = await openHoldfast({ root, owner: run.owner, heart: "loop" });
    try {
      const locks = new RunLocks({ holdfast, folder, run, pid: null, ttl: undefined, wait: undefined, renewBelow: 1 });
      await locks.hold([pathKey(root, "src/slow.ts")]);
      const [first] = (await library.inspect("path/src/slow.ts")).grants;
      await expect
        .poll(
          async () => {
            await locks.renew();
            const [now] = (await library.inspect("path/src/slow.ts")).grants;
            return now?.fencing_token === first?.fencing_token && now?.last_renewed_at !== first?.last_renewed_at;
          },
          { timeout: 120_000, interval: 5 },
        )
        .toBe(true);
      expect(await locks.release()).toBe(1);
    } finally {
      await holdfast.close();
    }
  });

  // kills: hook-sub-agent-renews
  it("a sub-agent's activity renews what its run holds: the run waits for it", async () => {
    const [main, owner] = ["agent:claude-waits", "agent:claude-waits/sub"];
    expect((await write("waits", "src/waits.ts")).exit).toBe(0);
    const [first] = (await library.inspect("path/src/waits.ts")).grants;
    const holdfast = await openHoldfast({ root, owner, heart: "loop" });
    try {
      const place = { holdfast, folder, run: { owner, main, around: [] }, pid: null, ttl: undefined, wait: undefined };
      await new RunLocks({ ...place, renewBelow: 1 }).renew();
      const [now] = (await library.inspect("path/src/waits.ts")).grants;
      expect(now?.lock_id).toBe(first?.lock_id);
      expect(now?.last_renewed_at).not.toBe(first?.last_renewed_at);
    } finally {
      await holdfast.close();
    }
    await event("waits", "SessionEnd");
  });

  it("says what to do with more files than one request takes", async () => {
    const many = Array.from({ length: 65 }, (_, at) => `many/${at}`);
    const { exit, stderr } = await shell("many", `touch ${many.join(" ")}`);
    expect([exit, stderr]).toEqual([2, expect.stringContaining("Do it in parts, of at most 64 files each.")]);
    expect((await shell("many", `touch ${many.slice(1).join(" ")}`)).exit).toBe(0);
    await event("many", "SessionEnd");
  });

  it("a lapsed lease is anybody's, and its run asks anew", async () => {
    await write("asleep", "src/lapsed.ts", { ttl: "1s" });
    await expect
      .poll(async () => (await write("awake", "src/lapsed.ts")).exit, { timeout: 120_000, interval: 200 })
      .toBe(0);
    expect((await write("asleep", "src/lapsed.ts")).exit).toBe(2);
    await event("awake", "SessionEnd");
    expect((await write("asleep", "src/lapsed.ts")).exit).toBe(0);
    await event("asleep", "SessionEnd");
  });

  it("tells Claude Code's shell the run's name", async () => {
    const file = join(dir, "claude-env");
    await event("named", "SessionStart", { env: { CLAUDE_ENV_FILE: file } });
    expect(readFileSync(file, "utf8")).toBe("export HOLDFAST_OWNER='agent:claude-named'\n");
  });
});

describe("HOOK-1: sub-agents", () => {
  // kills: hook-borrowers
  it("write under what their run holds, exclude each other, and are done before the run is", async () => {
    await write("team", "src/team.ts");
    expect((await write("team", "src/team.ts", { agent: "s1" })).exit).toBe(0);
    expect((await write("team", "src/team.ts", { agent: "s2" })).stderr).toContain("agent:claude-team/s1 holds");
    expect((await write("team", "src/team.ts")).exit).toBe(2);
    await event("team", "SubagentStop", { agent: "s1" });
    expect((await write("team", "src/team.ts", { agent: "s2" })).exit).toBe(0);
    expect((await write("team", "src/sub.ts", { agent: "s2" })).exit).toBe(0);
    const deep = `${"d/".repeat(70)}x.ts`;
    await write("team", deep);
    expect((await write("team", deep, { agent: "s2" })).stderr).toBe("");
    await event("team", "SessionEnd");
    expect((await library.list()).filter(({ owner }) => owner.startsWith("agent:claude-team"))).toEqual([]);
  });

  // kills: hook-borrowers, hook-lent-whole-tree
  it("keep what changes files all over the tree away from their run and from each other", async () => {
    await write("crew", "src/crew.ts");
    await write("crew", "src/crew.ts", { agent: "s1" });
    for (const told of [{}, { agent: "s2" }])
      expect((await shell("crew", "git reset --hard", told)).stderr).toContain("agent:claude-crew/s1 holds");
    expect((await shell("crew", "git reset --hard", { agent: "s1" })).stderr).toBe("");
    await event("crew", "SubagentStop", { agent: "s1" });
    expect((await shell("crew", "git reset --hard")).stderr).toBe("");
    await event("crew", "SessionEnd");
  });
});

describe("HOOK-1: a run that ends a turn while a sub-agent of it stands in line", () => {
  // kills: hook-token-in-line
  it("leaves the token of that one alone, which finds what it was given", async () => {
    await write("ahead", "src/wanted.ts");
    const asked = write("turns", "src/wanted.ts", { agent: "s1", wait: "2m" });
    await expect.poll(async () => (await library.inspect("path/src/wanted.ts")).waiters).toHaveLength(1);
    await event("turns", "Stop");
    await event("ahead", "SessionEnd");
    expect((await asked).stderr).toBe("");
    expect((await write("turns", "src/wanted.ts", { agent: "s1" })).stderr).toBe("");
    await event("turns", "SubagentStop", { agent: "s1" });
    expect(await owners("path/src/wanted.ts")).toEqual([]);
  });
});

describe("HOOK-1: a run that gives back what it lends, while a sub-agent takes it", () => {
  const key = parseKey("path/src/lent.ts");

  async function inTheMidst(body: (main: RunPlace, sub: RunPlace) => Promise<void>): Promise<void> {
    const main = "agent:claude-lender";
    const opened = [main, `${main}/s1`].map((owner) => openHoldfast({ root, owner, heart: "loop" }));
    const [one, other] = (await Promise.all(opened)) as [Holdfast, Holdfast];
    const place = (holdfast: Holdfast): RunPlace => {
      const run = { owner: holdfast.owner, main, around: [] };
      return { holdfast, folder, run, pid: null, ttl: undefined, wait: undefined };
    };
    try {
      await new RunLocks(place(one)).hold([key]);
      await body(place(one), place(other));
    } finally {
      await new RunLocks(place(other)).release();
      await new RunLocks(place(one)).release();
      for (const each of [one, other]) await each.close();
    }
  }

  // kills: hook-lent-late
  it("the sub-agent that comes too late has the file itself", () =>
    inTheMidst(async (main, sub) => {
      const acquire = sub.holdfast.acquire.bind(sub.holdfast);
      vi.spyOn(sub.holdfast, "acquire").mockImplementationOnce(async (...asked) => {
        await new RunLocks(main).release();
        return acquire(...asked);
      });
      await new RunLocks(sub).hold([key]);
      expect(await owners(key)).toEqual(["agent:claude-lender/s1"]);
    }));

  // kills: hook-lent-closed
  it("the sub-agent that comes while it is given back is refused", () =>
    inTheMidst(async (main, sub) => {
      const reattach = main.holdfast.reattach.bind(main.holdfast);
      let taking: Promise<unknown> | null = null;
      vi.spyOn(main.holdfast, "reattach").mockImplementationOnce(async (...asked) => {
        taking = new RunLocks(sub).hold([key]);
        await taking.catch(() => undefined);
        return reattach(...asked);
      });
      await new RunLocks(main).release();
      await expect(taking).rejects.toMatchObject({ code: "E_LOCK_CONFLICT" });
      expect(await owners(key)).toEqual([]);
      await new RunLocks(sub).hold([key]);
      expect(await owners(key)).toEqual(["agent:claude-lender/s1"]);
    }));
});

describe("HOOK-1: locks that the agent took by itself", () => {
  async function take(owner: string, key: string) {
    const own = await openHoldfast({ root, owner, heart: "loop" });
    try {
      const files = openTokenFiles(folder, owner);
      return await acquireDetached("acquire", own, files, [key], { wait: 0 });
    } finally {
      await own.close();
    }
  }

  it("count under the name that HOLDFAST_OWNER declares, and for nobody else", async () => {
    await take("agent:seven", "path/lib");
    expect((await write("x", "lib/a.ts")).exit).toBe(2);
    expect((await write("x", "lib/a.ts", { env: { HOLDFAST_OWNER: "agent:seven" } })).exit).toBe(0);
    expect(await owners("path/lib/a.ts")).toEqual([]);
    expect((await write("x", "lib/a.ts", { env: { HOLDFAST_OWNER: "agent:eight" } })).exit).toBe(2);
  });

  it("are lent to the agents that its commands start, one at a time", async () => {
    const around = { env: { HOLDFAST_OWNER: "agent:claude-boss" } };
    await write("boss", "src/plan.ts");
    expect((await write("w1", "src/plan.ts", around)).exit).toBe(0);
    expect((await write("w2", "src/plan.ts", around)).stderr).toContain("agent:claude-w1 holds");
    expect((await write("w3", "src/plan.ts")).exit).toBe(2);
    expect((await write("boss", "src/plan.ts")).stderr).toContain("agent:claude-w1 holds");
    await event("boss", "SessionEnd");
    expect((await write("w2", "src/plan.ts", around)).exit).toBe(2);
    await event("w1", "SessionEnd");
    expect((await write("w2", "src/plan.ts", around)).exit).toBe(0);
    await event("w2", "SessionEnd");
    expect((await write("w3", "src/plan.ts")).exit).toBe(2);
    await event("boss", "SessionEnd");
    expect((await write("w3", "src/plan.ts")).exit).toBe(0);
    await event("w3", "SessionEnd");
  });
});

describe("HOOK-1: closed when in doubt", () => {
  // kills: hook-closed
  it("refuses what it cannot understand, in every dialect", async () => {
    const inputs = ["", "no JSON", "{}", "[]", '{"hook_event_name":"PreToolUse"}', "null", '{"session_id":'];
    for (const input of inputs)
      for (const client of ["claude", "codex", "gemini", "cursor"] as const) {
        const { exit, stdout, stderr } = await checkHook({ client, input, env, cwd: root });
        expect(stderr).not.toBe("");
        if (client === "cursor") expect(JSON.parse(stdout)).toMatchObject({ permission: "deny" });
        else expect([exit, stdout]).toEqual([2, ""]);
      }
  });

  it("a file of no workspace is free, and a store that cannot be opened is a refusal", async () => {
    const input = { hook_event_name: "PreToolUse", tool_name: "Write", tool_input: { file_path: "/x" } };
    expect((await tell("n", input, { cwd: "/" })).exit).toBe(0);
    const broken = join(dir, "broken");
    mkdirSync(broken);
    markWorkspace(broken);
    writeFileSync(join(broken, ".holdfast", "holdfast.db"), "no database");
    expect((await write("n", join(broken, "a"), { cwd: broken })).exit).toBe(2);
    writeFileSync(join(broken, "holdfast.config.json"), "{");
    expect((await write("n", join(broken, "a"), { cwd: broken })).exit).toBe(2);
  });

  it("refuses nothing after a write and at the end of a run", async () => {
    for (const name of ["PostToolUse", "SessionEnd", "SubagentStop"])
      expect((await event("n", name, { cwd: "/" })).exit).toBe(0);
  });
});

describe("POL-5: what is not an agent's to change", () => {
  it("is refused: the store, the configuration with the policy, breaking and approving", async () => {
    const refused = [
      await write("p", ".holdfast/holdfast.db"),
      await write("p", "holdfast.config.json"),
      await shell("p", "echo '{}' > holdfast.config.json"),
      await shell("p", "rm -rf .holdfast"),
      await shell("p", "holdfast lock break path/a --reason mine"),
      await shell("p", "holdfast approve map.delete project=a map=m"),
    ];
    for (const { exit, stderr } of refused) {
      expect(exit).toBe(2);
      expect(stderr).toMatch(/not for agents|E_FORBIDDEN/);
    }
    expect((await library.list()).filter(({ owner }) => owner === "agent:claude-p")).toEqual([]);
  });

  // kills: hook-around-removed, hook-find-all
  it("is refused with what is around it: the workspace, or a folder above it, removed or moved away", async () => {
    symlinkSync(dir, join(root, "above"));
    const tool = { hook_event_name: "PreToolUse", tool_name: "mcp__files__move_file" };
    const refused = [
      await shell("p", `rm -rf ${dir}`),
      await shell("p", `cd / && rm -r '${root}/'`),
      await shell("p", "rm -rf ../*"),
      await shell("p", "rm -rf above/workspace"),
      await shell("p", "mv ../workspace ../elsewhere"),
      await shell("p", `bash -c "mv -t /elsewhere ${dir}"`),
      await shell("p", "rsync -a --delete ../template/ ."),
      await shell("p", "find . -delete"),
      await tell("p", { ...tool, tool_input: { source: dir, destination: "/elsewhere" } }),
    ];
    for (const { exit, stderr } of refused) expect([exit, stderr]).toEqual([2, expect.stringContaining("E_FORBIDDEN")]);
    const harmless = ["rm above", "rm -rf ../other", "mv ../other ..", "cp src/a.ts ..", "touch .."];
    for (const line of harmless) expect((await shell("p", line)).stderr).toBe("");
  });
});
