/**
 * Proves that installed hooks refuse. The command of each hook is run as it stands in the agent tool's file, in the way
 * the tool runs it: for a file that another owner holds, for a free one, and with input that cannot be understood. So a
 * wrong path, a wrong dialect or a store that cannot be opened shows before two agents meet.
 *
 * It cannot show that the agent tool obeys: that takes the tool itself. docs/agents.md says how to try.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openIn } from "../../client/open-holdfast.js";
import { pathKey } from "../../client/path-key.js";
import type { Workspace } from "../../features/configuration.js";
import { isThere } from "../../platform/look-up.js";
import { AGENT_CLIENTS, type AgentClient, type Client } from "./call.js";
import { git } from "./git.js";
import { clientFile } from "./install/client-entries.js";
import { ourCommands } from "./install/hook-file.js";
import { gitHookPath } from "./install/parts.js";
import { proofsOfWorktrees } from "./worktree-proofs.js";

export interface Proof {
  readonly client: Client;
  /** What was tried. */
  readonly check: string;
  readonly ok: boolean;
  /** What came instead, when it is not as it should be. */
  readonly message: string;
  /** What to type then. */
  readonly next?: string;
}

interface Scene {
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  /** A file that somebody else holds, and one that nobody does. Neither is ever made. */
  readonly held: string;
  readonly free: string;
}

/** Longer than a hook may be told to wait. */
const LIMIT_MS = 420_000;
/** This thread stands still while a hook runs: a shorter lease would not be renewed until the longest wait is over. */
const LEASE_MS = 15 * 60_000;
const BEFORE = new Set(["PreToolUse", "preToolUse", "beforeShellExecution", "BeforeTool"]);
const NO_LAUNCHER = { launcher: { command: "", args: [], isLocal: false }, waitSeconds: 0, eachTurn: false };

/** Empty when no hook is installed. */
export async function proveHooks(
  workspace: Workspace,
  root: string,
  env: NodeJS.ProcessEnv,
): Promise<readonly Proof[]> {
  const name = `.holdfast-probe-${randomBytes(6).toString("hex")}`;
  const scene = { root, env, held: `${name}-held`, free: `${name}-free` };
  await using holdfast = await openIn(workspace, { owner: "service:doctor" });
  const held = { wait: 0, ttl: LEASE_MS, metadata: { doctor: "hooks" } };
  await using _lease = await holdfast.acquire(pathKey(root, scene.held), held);
  return [
    ...AGENT_CLIENTS.flatMap((client) => proveClient(scene, client)),
    ...proveGit(scene),
    ...AGENT_CLIENTS.flatMap((client) => proofsOfWorktrees(root, client, env)),
  ];
}

function proveClient(scene: Scene, client: AgentClient): Proof[] {
  const { file } = clientFile(client, NO_LAUNCHER);
  const path = join(scene.root, file);
  if (!isThere(path)) return [];
  const commands = ourCommands(readFileSync(path, "utf8"));
  if (commands.length === 0) return [];
  const gates = [...new Map(commands.filter(([event]) => BEFORE.has(event)).map(([event, line]) => [line, event]))];
  if (gates.length === 0)
    return [{ client, check: "a hook runs before a write", ok: false, message: `${file} has none; install it again` }];
  return gates.flatMap(([line, event]) => proveGate(scene, client, line, event));
}

function proveGate(scene: Scene, client: AgentClient, line: string, event: string): Proof[] {
  const session = `doctor-${randomBytes(6).toString("hex")}`;
  const ask = (input: string): Said => runLine(scene, line, input);
  const write = (file: string): Said => ask(JSON.stringify(writeEvent(client, event, session, scene.root, file)));
  const isRefused = (said: Said): boolean => saysNo(client, said);
  const proofs = [
    proof(client, "a file that somebody else holds is refused", write(scene.held), isRefused),
    proof(client, "a file that is free is taken", write(scene.free), (said) => said.exit === 0 && !isRefused(said)),
    proof(client, "what cannot be understood is refused", ask("no JSON"), isRefused),
  ];
  ask(JSON.stringify({ ...writeEvent(client, event, session, scene.root, scene.free), hook_event_name: END[client] }));
  return proofs;
}

const END: Readonly<Record<AgentClient, string>> = {
  claude: "SessionEnd",
  codex: "SessionEnd",
  cursor: "sessionEnd",
  gemini: "SessionEnd",
};

/** As the client tells of a write. */
function writeEvent(client: AgentClient, event: string, session: string, cwd: string, file: string) {
  const call = { hook_event_name: event, cwd };
  const path = join(cwd, file);
  switch (client) {
    case "claude":
      return { ...call, session_id: session, tool_name: "Write", tool_input: { file_path: path, content: "" } };
    case "gemini":
      return { ...call, session_id: session, tool_name: "write_file", tool_input: { file_path: path, content: "" } };
    case "codex": {
      const command = `*** Begin Patch\n*** Add File: ${file}\n+\n*** End Patch`;
      return { ...call, session_id: session, tool_name: "apply_patch", tool_input: { command } };
    }
    case "cursor": {
      const told = { ...call, conversation_id: session, workspace_roots: [cwd] };
      return event === "beforeShellExecution"
        ? { ...told, command: `echo > ${file}` }
        : { ...told, tool_name: "Write", tool_input: { file_path: path } };
    }
  }
}

interface Said {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function runLine({ root, env }: Scene, line: string, input: string): Said {
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", line], {
    cwd: root,
    env: { ...env, CLAUDE_PROJECT_DIR: root, HOLDFAST_OWNER: "" },
    input,
    encoding: "utf8",
    timeout: LIMIT_MS,
  });
  return { exit: status, stdout, stderr };
}

function saysNo(client: AgentClient, { exit, stdout, stderr }: Said): boolean {
  if (client !== "cursor") return exit === 2 && stderr.trim() !== "" && stdout === "";
  try {
    return exit === 0 && (JSON.parse(stdout) as { permission?: string }).permission === "deny";
  } catch {
    return exit === 2;
  }
}

function proof(client: Client, check: string, said: Said, isRight: (said: Said) => boolean): Proof {
  const ok = isRight(said);
  const message = ok
    ? ""
    : `exit code ${said.exit}: ${(said.stderr || said.stdout).trim().split("\n", 1)[0] || "no word"}`;
  return { client, check, ok, message };
}

/** The hook file itself is run, on an index of its own in which the probes are staged. */
function proveGit(scene: Scene): Proof[] {
  const path = gitHookPathOrNull(scene.root);
  if (path === null || !isThere(path) || !readFileSync(path, "utf8").includes("hook check git")) return [];
  const dir = mkdtempSync(join(tmpdir(), "holdfast-index-"));
  try {
    const commit = (file: string, index: string): Said => {
      const env = { ...scene.env, GIT_INDEX_FILE: join(dir, index) };
      const options = { cwd: scene.root, env, encoding: "utf8", timeout: LIMIT_MS } as const;
      const blob = execFileSync("git", ["hash-object", "--stdin"], { ...options, input: "" }).trim();
      const entry = `100644,${blob},${prefixOf(scene)}${file}`;
      execFileSync("git", ["update-index", "--add", "--cacheinfo", entry], options);
      const { status, stdout, stderr } = spawnSync(path, [], options);
      return { exit: status, stdout, stderr };
    };
    return [
      proof(
        "git",
        "a commit of what somebody else holds is refused",
        commit(scene.held, "held"),
        ({ exit }) => exit !== 0 && exit !== null,
      ),
    ];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Where the workspace lies in the repository. */
function prefixOf({ root }: Scene): string {
  return git(root, "rev-parse", "--show-prefix").trim();
}

function gitHookPathOrNull(root: string): string | null {
  try {
    return gitHookPath(root, "pre-commit");
  } catch {
    return null;
  }
}
