/** The commands that register folders as worktrees, of which snapshots can be taken. */
import { resolve } from "node:path";
import { given } from "../../../base/given.js";
import { type ArgumentSpec, type Command, command } from "../command.js";
import { WORKTREE_TOKEN, WORKTREE_WAIT } from "./shared-specs.js";

const NAME = { help: "the worktree" } as const satisfies ArgumentSpec;

export const WORKTREES: readonly Command[] = [
  command({
    name: "worktree add",
    group: "worktrees",
    summary: "put a folder under snapshots",
    about: [
      "An exclusive worktree has one writer at a time, who holds worktree:NAME. A shared one promises no such thing, and is marked as high risk wherever it is shown.",
    ],
    args: { NAME },
    flags: {
      path: {
        type: "text",
        value: "DIR",
        help: "the folder; default NAME in the workspace; made when it is not there",
      },
      mode: { type: "text", choices: ["exclusive", "shared"], help: "default exclusive" },
    },
    examples: [["holdfast worktree add main --path src", "the folder src, as worktree main"]],
    async run(context) {
      const { openForWriting } = await import("../snapshots/worktrees.js");
      const { args, cwd, flags } = context;
      const path = flags.path === undefined ? undefined : resolve(cwd, flags.path);
      const worktrees = await openForWriting(context);
      const worktree = await worktrees.trees.add(args.NAME, given({ path, mode: flags.mode }));
      return {
        data: { worktree },
        text: () => `worktree ${worktree.worktree_id} is ${worktree.path} (${worktree.mode})`,
        notes: worktree.warnings,
      };
    },
  }),
  command({
    name: "worktree list",
    group: "worktrees",
    summary: "which worktrees there are, and what they stand on",
    examples: [["holdfast worktree list", "all of them"]],
    async run(context) {
      const { openForReading, worktreeTable } = await import("../snapshots/worktrees.js");
      const worktrees = (await openForReading(context)).trees.list();
      return {
        data: { worktrees, next: null },
        text: (screen) => worktreeTable(worktrees, screen),
        notes: worktrees.length === 0 ? ["no worktrees yet: holdfast worktree add NAME --path DIR"] : [],
      };
    },
  }),
  command({
    name: "worktree remove",
    group: "worktrees",
    summary: "forget a worktree; its files stay",
    args: { NAME },
    flags: {
      snapshots: { type: "boolean", help: "its snapshots go too; gc then frees what nothing else uses" },
      token: WORKTREE_TOKEN,
      wait: WORKTREE_WAIT,
    },
    examples: [["holdfast worktree remove old", "its files and snapshots stay"]],
    async run(context) {
      const { openForWriting, presenting } = await import("../snapshots/worktrees.js");
      const { NAME: name } = context.args;
      const { snapshots } = context.flags;
      const worktrees = await openForWriting(context);
      const worktree = worktrees.trees.get(name);
      await worktrees.trees.remove(name, { snapshots, ...(await presenting(context, name)) });
      return {
        data: { worktree },
        text: () => `forgot worktree ${name}; its files in ${worktree.path} stay`,
        notes: snapshots ? ["holdfast gc frees what nothing else uses"] : [],
      };
    },
  }),
];
