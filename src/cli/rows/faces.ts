/** Other ways to meet holdfast. */
import type { CommandRow } from "../row.js";

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
