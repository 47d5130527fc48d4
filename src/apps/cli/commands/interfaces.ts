/** The commands of the other interfaces: MCP, the page, hooks and completion. */
import { CLIENTS } from "../../../agents/hooks/call.js";
import { type ArgumentSpec, type Command, command, type FlagSpecs } from "../command.js";

const CLIENT = { help: "whose hook it is", choices: CLIENTS } as const satisfies ArgumentSpec;
const HOOK_TIMES = {
  ttl: { type: "duration", help: "lease of what is taken, renewed by the agent's activity (15m)" },
  wait: { type: "duration", help: "how long to wait for a file that somebody has (0)" },
} as const satisfies FlagSpecs;

export const INTERFACES: readonly Command[] = [
  command({
    name: "mcp",
    group: "faces",
    summary: "the MCP server that agents talk to",
    about: [
      "Speaks the Model Context Protocol, revisions 2025-11-25 and 2026-07-28, over standard input and output, or over HTTP on the loopback. Agents take locks, work on the board and ask the policy through it; it breaks no lock and changes no policy.",
      "What an agent takes is renewed by its own calls and by nothing else, given back when its client goes or the server stops, and free at once when the server is killed. Over HTTP a client that goes is not seen: its locks run out.",
      "Without --owner it acts as an agent named after the client. Where there is no workspace it starts all the same, and every call says so. See docs/agents.md.",
    ],
    args: {},
    flags: {
      http: { type: "boolean", help: "HTTP on 127.0.0.1 instead of standard input and output" },
      port: { type: "integer", help: "with --http: where to listen; 0 for any free port; default 4655" },
    },
    examples: [
      ["holdfast mcp", "what the client of an agent starts, and talks to on its standard input"],
      ["holdfast mcp --http", "one server for many agents, at http://127.0.0.1:4655/mcp"],
    ],
    async run(context) {
      const { serveAgents } = await import("../agents/serve-agents.js");
      return serveAgents(context);
    },
  }),
  command({
    name: "dash",
    group: "faces",
    summary: "a live page for your browser: locks, who waits for whom, jobs, board, what happened",
    about: [
      "Serves a page on the loopback and prints the link to it. The link opens the page once, in one browser, and then there is another; whoever is not on this machine or has no link sees nothing.",
      "Locks with holder, countdown and line; who waits for whom; a timeline of holds; the audit trail, searched; lanes of jobs; the board; the history of snapshots. See docs/dash.md.",
      "It only looks, unless it was started with --allow-actions: then the page can recover and break locks, and cancel and retry jobs, under the name of --owner and by its rights.",
    ],
    args: {},
    flags: {
      "allow-actions": { type: "boolean", help: "also recover, break, cancel, retry: as --owner" },
      port: { type: "integer", help: "where to listen; 0 for any free port; default 4656" },
    },
    examples: [
      ["holdfast dash", "then open the link"],
      ["holdfast dash --allow-actions --owner user:ann", "to break a lock, with a written reason, as ann"],
    ],
    async run(context) {
      const { servePage } = await import("../agents/serve-page.js");
      return servePage(context);
    },
  }),
  command({
    name: "hook check",
    group: "faces",
    summary: "what a client runs before its agent writes: takes the file's lock for the agent, or refuses",
    about: [
      "Reads on standard input what the client tells, in its own dialect, and answers in it. Before a write the agent's run must hold path/… of each file: it is taken when it is free, and the write is refused with the contention report when it is not. Activity renews; the end of the run gives everything back.",
      "What cannot be understood is refused. `hook check git` looks at what is staged instead, and takes nothing.",
    ],
    args: { CLIENT },
    flags: HOOK_TIMES,
    examples: [
      ["holdfast hook check claude", "what hook install lets the client run: the event comes on standard input"],
    ],
    async run(context) {
      const { CLIENT: client } = context.args;
      if (client === "git") return (await import("../agents/git-check.js")).gitCheck(context);
      const { checkWrite } = await import("../agents/check-hook.js");
      return checkWrite(context, client);
    },
  }),
  command({
    name: "hook install",
    group: "faces",
    summary: "put the check into a client's own configuration, beside what is there",
    about: [
      "Shows what changes. The files are those of the project: .claude/settings.json, .codex/hooks.json, .cursor/hooks.json, .gemini/settings.json, and the pre-commit hook of git. Those that git does not track are listed in .worktreeinclude; with codex, in a repository with linked worktrees, .codex/config.toml lets the sandbox write the store.",
      "--uninstall gives the file back as it was, byte for byte; when it has been changed since, only what is ours is taken out.",
    ],
    args: { CLIENT },
    flags: {
      uninstall: { type: "boolean", help: "take it out again" },
      "dry-run": { type: "boolean", help: "show what would change and write nothing" },
      "each-turn": { type: "boolean", help: "give locks back after each turn of the agent, not only at its end" },
      ...HOOK_TIMES,
    },
    examples: [
      ["holdfast hook install claude", "Claude Code writes only what it holds from now on"],
      ["holdfast hook install git --dry-run", "what would change?"],
    ],
    async run(context) {
      const { installHook } = await import("../agents/install-hook.js");
      return installHook(context);
    },
  }),
  command({
    name: "completion",
    group: "faces",
    summary: "completion for your shell",
    args: { SHELL: { help: "which one", choices: ["bash", "zsh", "fish"] } },
    examples: [
      ["source <(holdfast completion bash)", "in ~/.bashrc"],
      ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", "for fish"],
    ],
    async run({ args: { SHELL: shell } }) {
      const { completionScript } = await import("../set-up/completion-script.js");
      const script = completionScript(shell);
      return { data: { shell, script }, text: () => script };
    },
  }),
];
