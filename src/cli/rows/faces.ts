/** Other ways to meet holdfast. */
import { CLIENTS } from "../../hooks/call.js";
import type { CommandRow } from "../row.js";

const CLIENT = { name: "CLIENT", help: "whose hook it is", choices: CLIENTS };
const HOOK_TIMES = [
  { name: "ttl", type: "duration", help: "lease of what is taken, renewed by the agent's activity (15m)" },
  { name: "wait", type: "duration", help: "how long to wait for a file that somebody has (0)" },
] as const;

export const FACES: readonly CommandRow[] = [
  {
    name: "mcp",
    group: "faces",
    summary: "the MCP server that agents talk to",
    about: [
      "Speaks the Model Context Protocol, revisions 2025-11-25 and 2026-07-28, over standard input and output, or over HTTP on the loopback. Agents take locks, work on the board and ask the policy through it; it breaks no lock and changes no policy.",
      "What an agent takes is renewed by its own calls and by nothing else, given back when its client goes or the server stops, and free at once when the server is killed. Over HTTP a client that goes is not seen: its locks run out.",
      "Without --owner it acts as an agent named after the client. Where there is no workspace it starts all the same, and every call says so. See docs/agents.md.",
    ],
    args: [],
    flags: [
      { name: "http", type: "boolean", help: "HTTP on 127.0.0.1 instead of standard input and output" },
      { name: "port", type: "integer", help: "with --http: where to listen; 0 for any free port; default 4655" },
    ],
    examples: [
      ["holdfast mcp", "what the client of an agent starts, and talks to on its standard input"],
      ["holdfast mcp --http", "one server for many agents, at http://127.0.0.1:4655/mcp"],
    ],
    load: () => import("../commands/mcp.js"),
  },
  {
    name: "dash",
    group: "faces",
    summary: "a live page for your browser: locks, who waits for whom, jobs, board, what happened",
    about: [
      "Serves a page on the loopback and prints the link to it. The link opens the page once, in one browser, and then there is another; whoever is not on this machine or has no link sees nothing.",
      "Locks with holder, countdown and line; who waits for whom; a timeline of holds; the audit trail, searched; lanes of jobs; the board; the history of snapshots. See docs/dash.md.",
      "It only looks, unless it was started with --allow-actions: then the page can recover and break locks, and cancel and retry jobs, under the name of --owner and by its rights.",
    ],
    args: [],
    flags: [
      { name: "allow-actions", type: "boolean", help: "also recover, break, cancel, retry: as --owner" },
      { name: "port", type: "integer", help: "where to listen; 0 for any free port; default 4656" },
    ],
    examples: [
      ["holdfast dash", "then open the link"],
      ["holdfast dash --allow-actions --owner user:ann", "to break a lock, with a written reason, as ann"],
    ],
    load: () => import("../commands/dash.js"),
  },
  {
    name: "hook check",
    group: "faces",
    summary: "what a client runs before its agent writes: takes the file's lock for the agent, or refuses",
    about: [
      "Reads on standard input what the client tells, in its own dialect, and answers in it. Before a write the agent's run must hold path/… of each file: it is taken when it is free, and the write is refused with the contention report when it is not. Activity renews; the end of the run gives everything back.",
      "What cannot be understood is refused. `hook check git` looks at what is staged instead, and takes nothing.",
    ],
    args: [CLIENT],
    flags: HOOK_TIMES,
    examples: [
      ["holdfast hook check claude", "what hook install lets the client run: the event comes on standard input"],
    ],
    load: () => import("../commands/hook-check.js"),
  },
  {
    name: "hook install",
    group: "faces",
    summary: "put the check into a client's own configuration, beside what is there",
    about: [
      "Shows what changes. The files are those of the project: .claude/settings.json, .codex/hooks.json, .cursor/hooks.json, .gemini/settings.json, and the pre-commit hook of git.",
      "--uninstall gives the file back as it was, byte for byte; when it has been changed since, only what is ours is taken out.",
    ],
    args: [CLIENT],
    flags: [
      { name: "uninstall", type: "boolean", help: "take it out again" },
      { name: "dry-run", type: "boolean", help: "show what would change and write nothing" },
      { name: "each-turn", type: "boolean", help: "give locks back after each turn of the agent, not only at its end" },
      ...HOOK_TIMES,
    ],
    examples: [
      ["holdfast hook install claude", "Claude Code writes only what it holds from now on"],
      ["holdfast hook install git --dry-run", "what would change?"],
    ],
    load: () => import("../commands/hook-install.js"),
  },
  {
    name: "completion",
    group: "faces",
    summary: "completion for your shell",
    args: [{ name: "SHELL", help: "which one", choices: ["bash", "zsh", "fish"] }],
    examples: [
      ["source <(holdfast completion bash)", "in ~/.bashrc"],
      ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", "for fish"],
    ],
    load: () => import("../commands/completion.js"),
  },
];
