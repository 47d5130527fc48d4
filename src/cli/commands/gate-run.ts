/** `holdfast gate run ID GATE`. The exit code is the verdict: 0 passed, 88 failed. */
import { HoldfastError } from "../../support/errors.js";
import { changing, openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { tellingLater } from "../telling-later.js";

export async function run(context: Context): Promise<Outcome> {
  const opened = await openTheBoard(context);
  const gate = context.arg("GATE");
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
