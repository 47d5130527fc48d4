/**
 * Lists the parts of files that an install writes, file by file: hook entries, the git hook, the MCP server, the page
 * for agents.
 */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { HoldfastError } from "../../../base/errors.js";
import { isThere } from "../../../platform/look-up.js";
import { AGENT_CLIENTS, type AgentClient, type Client } from "../call.js";
import { git } from "../git.js";
import type { FilePart } from "./change-plan.js";
import { clientFile, type HookOptions } from "./client-entries.js";
import { withHooks, withoutHooks } from "./hook-file.js";
import { memberOf, parseJsonText, removeMember, setAt } from "./json-text.js";
import { type Launcher, shellLine } from "./launcher.js";
import { PAGE_MARKS, putBlock, SCRIPT_MARKS, takeBlock } from "./marked-block.js";

export function hookPart(root: string, client: Client, options: HookOptions): FilePart {
  if (client === "git") return preCommitPart(root, options.launcher);
  const wanted = clientFile(client, options);
  return { path: wanted.file, part: "hooks", put: (text) => withHooks(text, wanted), take: withoutHooks };
}

/** Where an agent tool looks for its settings: the files that a linked worktree needs as well. */
export function settingsFilesOf(client: AgentClient, options: HookOptions): readonly string[] {
  return [...new Set([clientFile(client, options).file, mcpPart(client, options.launcher).path])];
}

/** What is left to do for people, if anything. */
export function noteFor(client: Client, options: HookOptions): string | undefined {
  return client === "git" ? undefined : clientFile(client, options).note;
}

/** A shell script of somebody else's gets two lines behind its first; anything else is not ours to change. */
function preCommitPart(root: string, launcher: Launcher): FilePart {
  const path = gitHookPath(root, "pre-commit");
  const body = `${shellLine(launcher, ["hook", "check", "git"])} || exit 1`;
  return {
    path,
    part: "hooks",
    mode: 0o755,
    put(text) {
      if (text === null || text === "") return putBlock("#!/bin/sh\n", SCRIPT_MARKS, body, "second");
      assertShellScript(path, text);
      return putBlock(text, SCRIPT_MARKS, body, "second");
    },
    take(text) {
      const rest = takeBlock(text, SCRIPT_MARKS, "second");
      return rest === "#!/bin/sh\n" && rest !== text ? null : rest;
    },
  };
}

export function gitHookPath(root: string, name: string): string {
  return resolve(root, git(root, "rev-parse", "--git-path", `hooks/${name}`).trimEnd());
}

function assertShellScript(path: string, text: string): void {
  const isShell = /^#!\s*\S*\/(env\s+(-S\s+)?)?(ba|da|z|k)?sh\b/.test(text);
  const isExecutable = process.platform === "win32" || ((statSync(path).mode ?? 0) & 0o111) !== 0;
  if (isShell && isExecutable) return;
  throw new HoldfastError(
    "E_CONFIG",
    isShell ? `${path} is not executable, so git does not run it` : `${path} is no shell script`,
    {
      reason: "invalid_file",
      details: { path },
      next: [isShell ? `chmod +x ${path}` : "Run `holdfast hook check git` in it, and end with its exit code."],
    },
  );
}

/** The entry that starts the MCP server, where each client looks for it. */
export function mcpPart(client: AgentClient, launcher: Launcher): FilePart {
  const { command } = launcher;
  const args = [...launcher.args, "mcp"];
  if (client === "codex") return codexMcpPart(command, args);
  const path = { claude: ".mcp.json", cursor: ".cursor/mcp.json", gemini: ".gemini/settings.json" }[client];
  return {
    path,
    part: "mcp",
    put(text) {
      const now = text === null || text.trim() === "" ? "{}\n" : text;
      const isThere = memberOf(memberOf(parseJsonText(now), "mcpServers"), "holdfast") !== undefined;
      return isThere ? text : setAt(now, ["mcpServers", "holdfast"], { command, args });
    },
    take: withoutMcpEntry,
  };
}

function withoutMcpEntry(text: string): string {
  const root = parseJsonText(text);
  const servers = root.members.find(({ key }) => key === "mcpServers");
  const own = servers?.node.members.find(({ key }) => key === "holdfast");
  if (servers === undefined || own === undefined) return text;
  return servers.node.members.length === 1 ? removeMember(text, root, servers) : removeMember(text, servers.node, own);
}

function codexMcpPart(command: string, args: readonly string[]): FilePart {
  const body = `[mcp_servers.holdfast]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}`;
  return {
    path: ".codex/config.toml",
    part: "mcp",
    put(text) {
      const rest = takeBlock(text ?? "", SCRIPT_MARKS, "end");
      return /^\s*\[mcp_servers\.holdfast\]/m.test(rest) ? text : putBlock(text ?? "", SCRIPT_MARKS, body, "end");
    },
    take: (text) => takeBlock(text, SCRIPT_MARKS, "end"),
  };
}

const LINES = `## Shared workspace

Other agents and people work in this folder at the same time. holdfast keeps you apart: a hook takes the lock of each file
for you before you write it, and refuses the write when somebody else has it.

- Refused? Do not write the file another way. Work on something else, or wait: \`holdfast lock wait path/FILE --wait 2m\`.
  Then read the file again before you change it.
- Cannot go on? End with the line LOCK_CONTENTION … from the refusal, so that whoever gave you the work can plan anew.
- Several files that must change together: \`holdfast lock acquire path/A path/B\` first, and after it
  \`holdfast lock release path/A path/B\`.
- Work to pick: \`holdfast issue next --claim\`. Who has what: \`holdfast lock list\`.
- Never end others' locks, approve anything, or change .holdfast/ or holdfast.config.json: that is for people.`;

export const agentsPagePart: FilePart = {
  path: "AGENTS.md",
  part: "lines",
  put: (text) => putBlock(text ?? "", PAGE_MARKS, LINES, "end"),
  take: (text) => takeBlock(text, PAGE_MARKS, "end"),
};

/** Clients that have left a folder here; all of them when none has. */
export function clientsIn(root: string): readonly AgentClient[] {
  const found = AGENT_CLIENTS.filter((client) => isThere(join(root, `.${client}`)));
  return found.length === 0 ? AGENT_CLIENTS : found;
}

export function isInGit(root: string): boolean {
  try {
    gitHookPath(root, "pre-commit");
    return true;
  } catch {
    return false;
  }
}
