/** Runs the gate of an issue, or waits for its verdict. The exit code is the verdict: 0 passed, 88 failed. */
import { HoldfastError } from "../../../base/errors.js";
import type { ContextWith, Outcome } from "../command.js";
import { waitingFor } from "../input/wait-flag.js";
import { tellingLater } from "../output/delayed-message.js";
import { changing, openTheBoard, readTheBoard } from "./board.js";

interface IssueGate {
  readonly ID: string;
  readonly GATE: string;
}

export async function runGate(
  context: ContextWith<{ readonly token: string | undefined }, IssueGate>,
): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const { GATE: gate } = context.args;
  const ran = changing(context, opened, (id, options) =>
    opened.board.runGate(id, gate, { ...options, signal: context.signal }),
  );
  const running = `gate ${gate} is running; what it prints is shown when it has ended (Ctrl-C ends it)`;
  const done = await tellingLater(context.screen, () => running, ran);
  if (done.run.status === "failed") throw failed(done.run);
  return {
    data: done,
    text: (screen) => `${done.run.output}${screen.paint("green", "passed")} gate ${gate} on issue ${done.issue.id}`,
  };
}

function failed(run: { readonly issue: string; readonly gate: string; readonly output: string }): HoldfastError {
  const { issue, gate, output } = run;
  const last = output.trimEnd().split("\n").slice(-10).join("\n");
  return new HoldfastError(
    "E_GATE_BLOCKED",
    `gate ${gate} failed on issue ${issue}${last === "" ? "" : `:\n${last}`}`,
    {
      details: { run },
      next: [`Mend what it found, then: holdfast gate run ${issue} ${gate}`],
    },
  );
}

export async function waitForGate(
  context: ContextWith<{ readonly wait: string | undefined }, IssueGate>,
): Promise<Outcome> {
  const { ID: id, GATE: gate } = context.args;
  const board = readTheBoard(context);
  const late = { late: `gate ${gate} of issue ${id} neither passed nor failed`, look: `holdfast issue show ${id}` };
  const waited = waitingFor(context, late, (signal) => board.waitForGate(id, gate, { signal }));
  const waiting = `waiting for gate ${gate} of issue ${id} to pass or fail (Ctrl-C stops)`;
  const state = await tellingLater(context.screen, () => waiting, waited);
  if (state.status === "failed")
    throw new HoldfastError("E_GATE_BLOCKED", `gate ${gate} failed on issue ${id}, by ${state.by}`, {
      details: { issue: id, gate, state },
      next: [`holdfast issue show ${id}`],
    });
  return { data: { gate: { name: gate, issue: id, ...state } }, text: () => `gate ${gate} passed by ${state.by}` };
}
