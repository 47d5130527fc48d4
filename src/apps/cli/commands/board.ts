/** The commands that import and export a whole board. */
import { type Command, command } from "../command.js";

export const BOARD: readonly Command[] = [
  command({
    name: "board import",
    group: "board",
    summary: "issues from task-master, beads, or a board's export",
    about: [
      "All in one step, or nothing. What was imported before is left as it is.",
      "An export comes back under its own ids, with its gates, but without claims. What is there already is left as it is; an id that is another issue's here is refused.",
    ],
    args: { FILE: { help: "tasks.json of task-master, beads' JSONL, or what board export wrote" } },
    flags: {
      format: {
        type: "text",
        choices: ["task-master", "beads", "holdfast"],
        help: "default by the file's ending and content",
      },
    },
    examples: [
      ["holdfast board import tasks.json", "issues, states and dependencies"],
      ["holdfast board import board.json", "what board export wrote, back again"],
    ],
    async run(context) {
      const { importIssues } = await import("../board/import-issues.js");
      return importIssues(context);
    },
  }),
  command({
    name: "board export",
    group: "board",
    summary: "the whole board as JSON",
    about: ["board import takes it back, but for claims. Events and the output of gates are not in it."],
    examples: [["holdfast board export --json > board.json", "all of it, to keep"]],
    async run(context) {
      const { readTheBoard } = await import("../board/board.js");
      const all = await readTheBoard(context).export();
      return { data: all, text: () => JSON.stringify(all, null, 2) };
    },
  }),
];
