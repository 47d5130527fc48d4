/** One agent acts under one name: its hook, its shell commands and its MCP server; and no command borrows another name. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Json, openScene, type Result, type Scene } from "../../fixtures/command.fixture.js";
import { Agent, type AgentOptions, commandOf } from "./agent.fixture.js";

let scene: Scene;
const agents: Agent[] = [];
beforeAll(async () => {
  scene = await openScene();
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.kill()));
  await scene.close();
});

function agent(session: string, options?: AgentOptions): Agent {
  const made = new Agent(scene, session, options);
  agents.push(made);
  return made;
}

async function ownersOf(key: string): Promise<string[]> {
  return (await scene.inspect(key)).grants.filter(({ resource }) => resource === key).map(({ owner }) => owner);
}

function errorOf({ stdout }: Result): Json {
  return JSON.parse(stdout).error;
}

function recordOf(owner: string): Json {
  const folder = join(scene.root, ".holdfast", "tokens", String(process.getuid?.()));
  const records = readdirSync(folder).filter((name) => name.startsWith("run-"));
  return records.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8"))).find((run) => run.owner === owner);
}

describe("a command in the shell of an agent", () => {
  it.each(["codex", "gemini", "claude"] as const)("of %s acts under the name of the run", async (client) => {
    const one = agent(`shell-${client}`, { client });
    await one.start();
    const owner = `agent:${client}-shell-${client}`;
    expect(await one.shell(`holdfast lock acquire path/${client}/b path/${client}/c`)).toMatchObject({ exit: 0 });
    expect(await ownersOf(`path/${client}/b`)).toEqual([owner]);
    expect(await one.write(`${client}/b`)).toMatchObject({ exit: 0, stderr: "" });
    expect(await ownersOf(`path/${client}/b`)).toEqual([owner]);
    await one.shell("holdfast issue add 'Work to do'");
    expect(JSON.parse((await one.shell("holdfast issue next --claim --json")).stdout).data.issue.assignee).toBe(owner);
    expect((await one.shell(`holdfast lock release path/${client}/b path/${client}/c`)).exit).toBe(0);
    expect(await ownersOf(`path/${client}/b`)).toEqual([]);
    expect((await one.shell("holdfast config show")).stdout).toContain(`${owner} (run)`);
  });

  // kills: command-on-loan
  it("borrows the files that the hook holds, renews and gives back all of them", async () => {
    const one = agent("borrows", { client: "codex" });
    await one.start();
    await one.write("lent/a");
    expect((await one.shell("holdfast lock acquire path/lent/a path/lent/b --wait 0")).stderr).toBe("");
    expect((await one.write("lent/a")).stderr).toBe("");
    expect((await one.shell("holdfast run path/lent/a --wait 0 -- true")).exit).toBe(75);
    expect((await one.shell("holdfast lock renew path/lent/a --ttl 1h")).exit).toBe(0);
    const left = (await scene.inspect("path/lent/a")).grants.map((grant) => grant.lease_duration_s);
    expect(left).toEqual([3_600, 3_600]);
    expect((await one.shell("holdfast lock release path/lent/a path/lent/b")).exit).toBe(0);
    expect((await scene.inspect("path/lent")).grants).toEqual([]);
    await one.write("lent/a");
    expect((await one.shell("holdfast run path/lent/a --wait 0 -- true")).exit).toBe(0);
    await one.end();
    expect((await scene.inspect("path/lent")).grants).toEqual([]);
  });

  // kills: command-shares-a-command
  it("shares nothing with another command of the same run", async () => {
    const one = agent("stranger", { client: "codex" });
    await one.start();
    for (const key of ["build", "path/strange/a"]) {
      expect((await one.shell(`holdfast lock acquire ${key}`)).exit).toBe(0);
      expect((await one.shell(`holdfast lock acquire ${key} --wait 0`)).exit).toBe(75);
      expect((await one.shell(`holdfast run ${key} --wait 0 -- true`)).exit).toBe(75);
    }
    const both =
      "holdfast run job --wait 0 -- sleep 0.5 & A=$!; holdfast run job --wait 0 -- sleep 0.5; B=$?; wait $A; echo $?$B";
    expect(["075", "750"]).toContain((await one.shell(both)).stdout.trim());
  });

  it("does not give back a file that a sub-agent has on loan", async () => {
    const one = agent("lender", { client: "claude" });
    await one.start();
    await one.write("loan/a");
    const sub = {
      hook_event_name: "PreToolUse",
      tool_name: "Write",
      tool_input: { file_path: "loan/a" },
      agent_id: "s1",
    };
    expect((await one.tell(sub)).exit).toBe(0);
    expect(errorOf(await one.shell("holdfast lock release path/loan/a --json"))).toMatchObject({
      code: "E_LOCK_CONFLICT",
    });
    await one.tell({ hook_event_name: "SubagentStop", agent_id: "s1" });
    expect((await one.shell("holdfast lock release path/loan/a")).exit).toBe(0);
  });
});

describe("the run that a process belongs to", () => {
  it("is the nearest: an agent started by an agent acts for itself, and the outer one lends", async () => {
    const outer = agent("outer", { client: "codex" });
    await outer.start();
    await outer.write("nested/a");
    const inner = commandOf(scene, "gemini").join(" ");
    const events = [
      { session_id: "inner", cwd: scene.root, hook_event_name: "SessionStart" },
      {
        session_id: "inner",
        cwd: scene.root,
        hook_event_name: "BeforeTool",
        tool_name: "write_file",
        tool_input: { file_path: "nested/a" },
      },
      { line: "holdfast config show --json" },
      { line: "holdfast lock acquire path/nested/b" },
    ];
    const env = { HOOK_COMMAND: "holdfast hook check gemini || exit 2", CODEX_THREAD_ID: "outer" };
    const lines = events.map((event) => `'${JSON.stringify(event)}'`).join(" ");
    const { stdout } = await outer.shell(`printf '%s\\n' ${lines} | ${inner}`, env);
    const answers = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Result);
    expect(answers.map(({ exit }) => exit)).toEqual([0, 0, 0, 0]);
    expect(JSON.parse(answers[2]?.stdout ?? "").data).toMatchObject({ owner: "agent:gemini-inner" });
    expect(await ownersOf("path/nested/a")).toEqual(["agent:codex-outer"]);
    expect(await ownersOf("path/nested/b")).toEqual(["agent:gemini-inner"]);
    expect(recordOf("agent:gemini-inner").around).toEqual(["agent:codex-outer"]);
  });

  // kills: run-of-an-editor
  it("is not decided by ancestry in an editor, which also hosts terminals, but by its variable", async () => {
    const editor = agent("chat", { client: "cursor" });
    await editor.start();
    const owner = async (env: Record<string, string> = {}): Promise<string> =>
      JSON.parse((await editor.shell("holdfast config show --json", env)).stdout).data.owner;
    expect(await owner()).toMatch(/^user:/);
    expect(await owner({ CURSOR_CONVERSATION_ID: "chat" })).toBe("agent:cursor-chat");
  });

  it("is not decided by ancestry where one process has several runs, but by the variable", async () => {
    const server = agent("thread-1", { client: "codex" });
    await server.start();
    await server.tell({ session_id: "thread-2", hook_event_name: "SessionStart" });
    const owner = async (env: Record<string, string> = {}): Promise<string> =>
      JSON.parse((await server.shell("holdfast config show --json", env)).stdout).data.owner;
    expect(await owner()).toMatch(/^user:/);
    expect(await owner({ CODEX_THREAD_ID: "thread-2" })).toBe("agent:codex-thread-2");
  });

  it.skipIf(process.getuid?.() !== 0)("is the variable's in a pid namespace of its own (needs root)", async () => {
    const one = agent("boxed", { client: "codex" });
    await one.start();
    const line = "unshare --pid --fork --mount-proc holdfast config show --json";
    const { stdout } = await one.shell(line, { CODEX_THREAD_ID: "boxed" });
    expect(JSON.parse(stdout).data.owner).toBe("agent:codex-boxed");
    expect(JSON.parse((await one.shell(line)).stdout).data.owner).toMatch(/^user:/);
  });

  // kills: run-named-from-afar
  it("is not that of a variable which names a run whose process is not above", async () => {
    const [one, other] = [agent("mine", { client: "codex" }), agent("theirs", { client: "codex" })];
    await Promise.all([one.start(), other.start()]);
    const { stdout } = await one.shell("holdfast config show --json", { CODEX_THREAD_ID: "theirs" });
    expect(JSON.parse(stdout).data.owner).toBe("agent:codex-mine");
  });

  it("names the MCP server at each call, also one that was started before the first hook", async () => {
    const one = agent("served", { client: "claude" });
    const marks = join(scene.dir, "served");
    mkdirSync(marks);
    // The server runs below the agent; the test speaks to it through two pipes.
    const [into, out] = [join(marks, "in"), join(marks, "out")];
    for (const pipe of [into, out]) execFileSync("mkfifo", [pipe]);
    await one.tell({ background: `holdfast mcp < ${into} > ${out}` });
    const transport = new StdioClientTransport({ command: "sh", args: ["-c", `cat ${out} & cat > ${into}; wait`] });
    const client = new Client({ name: "claude-code", version: "1" });
    await client.connect(transport, { timeout: 120_000 });
    const take = async (path: string): Promise<Json> =>
      (await client.callTool({ name: "lock_acquire", arguments: { paths: [path] } })).structuredContent;
    expect((await take("served/a")).ok).toBe(true);
    expect((await ownersOf("path/served/a"))[0]).toMatch(/^agent:claude-code-/);
    await one.start();
    await one.write("served/b");
    for (const path of ["served/b", "served/c"]) expect((await take(path)).ok).toBe(true);
    expect(await ownersOf("path/served/c")).toEqual(["agent:claude-served"]);
    expect((await one.write("served/c")).stderr).toBe("");
    const released = await client.callTool({ name: "lock_release", arguments: { paths: ["served/a", "served/c"] } });
    expect(released.structuredContent).toMatchObject({ ok: true });
    await client.close();
  });
});

describe("a session that goes on in another process", () => {
  it("is bound to the tool that runs it now, and not to the shell above both", async () => {
    const script = join(scene.dir, "resume.sh");
    writeFileSync(script, `#!/bin/sh\n"$@"\n"$@"\n`);
    chmodSync(script, 0o755);
    const through = [script];
    const both = agent("by-script", { client: "codex", through });
    const toolPid = async (): Promise<number> => Number((await both.shell("echo $PPID")).stdout);
    await both.start();
    const first = await toolPid();
    expect(recordOf("agent:codex-by-script").process.pid).toBe(first);
    process.kill(first, "SIGKILL");
    const grant = async () => (await scene.inspect("path/by-script")).grants[0];
    await expect.poll(toolPid, { timeout: 60_000 }).not.toBe(first);
    expect((await both.write("by-script")).exit).toBe(0);
    const second = await toolPid();
    expect(recordOf("agent:codex-by-script").process.pid).toBe(second);
    expect((await grant())?.holder_id).toContain(`:${second}:`);
    process.kill(second, "SIGKILL");
    expect(await scene.data(["lock", "acquire", "path/by-script", "--wait", "10s"])).toBeTruthy();
  });

  // kills: run-bound-to-a-shell
  it("is bound to the tool also where a script starts the hook", async () => {
    const script = join(scene.dir, "hook.sh");
    writeFileSync(script, "holdfast hook check codex\nexit $?\n");
    const one = agent("scripted", { client: "codex", env: { HOOK_COMMAND: `sh ${script}` } });
    await one.start();
    expect(recordOf("agent:codex-scripted").process.pid).toBe(one.process.pid);
  });

  it("has a lease only while no process is certain, and its record says so", async () => {
    const [first, second] = [agent("unknown"), agent("unknown")];
    await first.start();
    await first.kill();
    expect((await second.write("unknown/a")).exit).toBe(0);
    expect(recordOf("agent:claude-unknown")).toMatchObject({ process: null });
    expect((await scene.inspect("path/unknown/a")).grants[0]?.holder_id).not.toContain(`:${second.process.pid}:`);
    expect((await second.write("unknown/b")).exit).toBe(0);
    expect(recordOf("agent:claude-unknown").process.pid).toBe(second.process.pid);
  });

  it.each([undefined, "codex"] as const)("is bound at its first event to a tool that is known (%s)", async (client) => {
    const session = `again-${client}`;
    const options = client === undefined ? {} : { client };
    const [first, second] = [agent(session, options), agent(session, options)];
    await first.start();
    await first.write(`${session}/a`);
    await first.kill();
    await second.write(`${session}/b`);
    expect(recordOf(`agent:${client ?? "claude"}-${session}`).process.pid).toBe(second.process.pid);
    await second.kill();
    expect(await scene.data(["lock", "acquire", `path/${session}/b`, "--wait", "10s"])).toBeTruthy();
  });
});

describe("inside a run, the name of another owner", () => {
  const claims = async (): Promise<number> =>
    (await scene.data(["audit", "list", "--event", "refused", "--prefix", "policy"])).entries.filter(
      (entry: Json) => entry.details.claimed !== undefined,
    ).length;

  // kills: person-inside-a-run, other-run-inside-a-run, claim-on-record, token-of-another-run, run-of-the-dead
  it("is refused and on record: of a person, of another living run, and their tokens", async () => {
    const [one, other] = [agent("claims", { client: "codex" }), agent("victim", { client: "codex" })];
    await Promise.all([one.start(), other.start()]);
    await other.shell("holdfast lock acquire path/victim");
    const person = await scene.data(["lock", "acquire", "persons", "--owner", "user:ada"]);
    const token = person.grants[0].lease_token;
    const before = await claims();
    const tried = [
      "holdfast --owner user:ada lock release persons --json",
      "HOLDFAST_OWNER=user:ada holdfast lock release persons --json",
      "holdfast --owner agent:codex-victim lock release path/victim --json",
      "HOLDFAST_OWNER=agent:codex-victim holdfast lock release path/victim --json",
      `holdfast lock release persons --token ${token} --json`,
      `HOLDFAST_LEASE_TOKEN=${token} holdfast lock release persons --json`,
    ];
    for (const line of tried) {
      const said = await one.shell(line);
      expect([line, said.exit, errorOf(said)?.code]).toEqual([line, 77, "E_FORBIDDEN"]);
    }
    expect(await claims()).toBe(before + tried.length);
    expect([await ownersOf("persons"), await ownersOf("path/victim")]).toEqual([["user:ada"], ["agent:codex-victim"]]);
    expect((await one.shell("holdfast --owner agent:suite lock acquire suite")).exit).toBe(0);
    expect((await one.shell("holdfast --owner agent:codex-claims lock acquire own")).exit).toBe(0);
    expect((await scene.json(["lock", "release", "persons", "--owner", "user:ada"])).exit).toBe(0);
    await other.kill();
    expect((await one.shell("holdfast --owner agent:codex-victim lock acquire free-name")).exit).toBe(0);
  });

  it("that the tool was started with names the run if it is an agent's, and is ignored otherwise", async () => {
    const named = agent("named", { client: "codex", env: { HOLDFAST_OWNER: "agent:worker-3" } });
    const second = agent("second", { client: "codex", env: { HOLDFAST_OWNER: "agent:worker-3" } });
    const bobs = agent("bobs", { client: "codex", env: { HOLDFAST_OWNER: "user:bob" } });
    for (const each of [named, second, bobs]) await each.start();
    const owner = async (each: Agent): Promise<Json> =>
      JSON.parse((await each.shell("holdfast config show --json")).stdout).data;
    expect(await owner(named)).toMatchObject({ owner: "agent:worker-3", notes: [] });
    expect(await owner(second)).toMatchObject({
      owner: "agent:codex-second",
      notes: [expect.stringContaining("agent:worker-3")],
    });
    expect(await owner(bobs)).toMatchObject({
      owner: "agent:codex-bobs",
      notes: [expect.stringContaining("user:bob")],
    });
    await named.write("worker/a");
    expect(await ownersOf("path/worker/a")).toEqual(["agent:worker-3"]);
    expect((await second.write("worker/a")).stderr).toContain("agent:worker-3 holds it");
  });

  it("is anything at all in a workspace where no hook has seen the run", async () => {
    const one = agent("suite", { client: "codex" });
    await one.start();
    const other = join(scene.dir, "suite");
    const line = `mkdir -p ${other} && cd ${other} && holdfast init && holdfast --owner user:me lock acquire a && holdfast --owner user:me lock release a`;
    expect((await one.shell(line)).exit).toBe(0);
  });
});

describe("the files that carry the hooks", () => {
  // kills: hook-carriers
  it("are not an agent's to write, by tool or shell; settings without a hook of ours are", async () => {
    const one = agent("carrier", { client: "claude" });
    execFileSync("git", ["init", "-q"], { cwd: scene.root });
    await scene.run(["hook", "install", "claude"]);
    mkdirSync(join(scene.root, ".gemini"));
    writeFileSync(join(scene.root, ".gemini", "settings.json"), "{}");
    const bash = (command: string): Promise<Result> =>
      one.tell({ hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command } });
    const refused = [
      await one.write(".claude/settings.json"),
      await bash("echo '{}' > .claude/settings.json"),
      await bash("sed -i s/holdfast/true/ .claude/settings.json"),
      await bash("rm -rf .claude"),
      await bash("mv .claude/settings.json /tmp/elsewhere"),
      await bash("cp other.json .claude/settings.json"),
      await bash("cd .claude && truncate -s 0 settings.json"),
      await bash("git checkout -- .claude/settings.json"),
      await bash("rm .git/hooks/pre-commit"),
      await one.write(".git/hooks/pre-push"),
    ];
    for (const { exit, stderr } of refused) expect([exit, stderr]).toEqual([2, expect.stringContaining("E_FORBIDDEN")]);
    for (const command of [
      "echo '{}' > .gemini/settings.json",
      "mkdir -p .claude/agents && echo x > .claude/agents/a.md",
    ])
      expect((await bash(command)).stderr).toBe("");
  });
});

describe("a sandbox that may write only the folder", () => {
  it.skipIf(process.getuid?.() !== 0)("lets commands acquire, claim and release (needs root)", async () => {
    const one = agent("sandboxed", { client: "codex" });
    await one.start();
    await one.shell("holdfast issue add 'In the box'");
    const boxed = (line: string): Promise<Result> =>
      one.shell(
        `unshare -m sh -c 'mount --bind ${scene.root} ${scene.root} && mount -o remount,bind,ro / && ! touch $HOME/x 2>/dev/null && ${line}'`,
      );
    expect(await boxed("holdfast lock acquire path/box/a")).toMatchObject({ exit: 0 });
    expect((await one.write("box/a")).stderr).toBe("");
    expect(await boxed("holdfast issue next --claim")).toMatchObject({ exit: 0 });
    expect(await boxed("holdfast lock release path/box/a")).toMatchObject({ exit: 0 });
  });
});
