/** Other ways to meet holdfast. */
import type { CommandRow } from "../row.js";

export const FACES: readonly CommandRow[] = [
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
