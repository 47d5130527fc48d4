/** The commands of gates: defining and listing them, running one, and waiting for the verdict of an issue. */
import { given } from "../../../base/given.js";
import { type Command, command } from "../command.js";
import { CLAIM_TOKEN, GATE, GATE_WAIT, ISSUE } from "./shared-specs.js";

export const GATES: readonly Command[] = [
  command({
    name: "gate add",
    group: "board",
    summary: "define a gate: manual, or automatic with a command",
    args: { NAME: { help: "letters, digits, . _ -" } },
    flags: {
      description: { type: "text", help: "what it asks for" },
      timeout: { type: "duration", help: "how long the command may run; default 10m" },
    },
    rest: { name: "CMD", help: "makes it automatic: exit code 0 passes", optional: true },
    examples: [["holdfast gate add tests --timeout 5m -- npm test", "an automatic gate"]],
    async run(context) {
      const { openTheBoard } = await import("../board/board.js");
      const { gateTable } = await import("../board/issue-text.js");
      const { args, flags, rest } = context;
      const { description, timeout } = flags;
      const { board } = await openTheBoard(context);
      const command = rest.length === 0 ? undefined : rest;
      const gate = await board.defineGate({ name: args.NAME, ...given({ description, timeout, command }) });
      return { data: { gate }, text: (screen) => gateTable([gate], screen) };
    },
  }),
  command({
    name: "gate list",
    group: "board",
    summary: "the gates there are",
    examples: [["holdfast gate list", "which can an issue be given?"]],
    async run(context) {
      const { readTheBoard } = await import("../board/board.js");
      const { gateTable } = await import("../board/issue-text.js");
      const gates = await readTheBoard(context).gates();
      return {
        data: { gates, next: null },
        text: (screen) => gateTable(gates, screen),
        notes: gates.length === 0 ? ["no gates"] : [],
      };
    },
  }),
  command({
    name: "gate run",
    group: "board",
    summary: "run an automatic gate's command for an issue",
    about: [
      "No lock is held while it runs. The verdict and the output are kept. Exit code 0 when it passed, 88 when it failed.",
    ],
    args: { ID: ISSUE, GATE },
    flags: { token: CLAIM_TOKEN },
    examples: [["holdfast gate run 42 tests", "exit code 0 when it passed"]],
    async run(context) {
      const { runGate } = await import("../board/gate-verdicts.js");
      return runGate(context);
    },
  }),
  command({
    name: "gate wait",
    group: "board",
    summary: "until an issue has passed or failed a gate",
    about: ["Exit code 0 when it passed, 88 when it failed."],
    args: { ID: ISSUE, GATE },
    flags: { wait: GATE_WAIT },
    examples: [["holdfast gate wait 42 tests --wait 10m", "until somebody has run it"]],
    async run(context) {
      const { waitForGate } = await import("../board/gate-verdicts.js");
      return waitForGate(context);
    },
  }),
];
