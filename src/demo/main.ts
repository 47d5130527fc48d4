/**
 * `npm start`: worker processes fight over one workspace while a supervisor kills and freezes them; then the evidence is
 * read back and judged. The exit code is the verdict.
 */
import { ERRORS, type Holdfast, openHoldfast } from "../index.js";
import { Crew } from "./crew.js";
import type { DemoEvent } from "./events.js";
import { collectEvidence } from "./evidence.js";
import { type DemoOptions, HELP, parseOptions } from "./options.js";
import { drawVerdict } from "./report.js";
import { Scoreboard } from "./scoreboard.js";
import { Supervisor } from "./supervisor.js";
import { drawTable } from "./table.js";
import { toTakeover } from "./takeovers.js";
import { judge, type Verdict } from "./verdict.js";
import { openView } from "./view.js";
import { createWorkspace, removeWorkspace } from "./workspace.js";

const FINISH_WITHIN_MS = 30_000;
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

process.exitCode = await main();

async function main(): Promise<number> {
  let options: DemoOptions | "help";
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`);
    return ERRORS.E_INVALID_ARGUMENT.exit;
  }
  if (options === "help") {
    console.log(HELP);
    return 0;
  }
  if (process.platform === "win32") {
    console.error("The demo freezes processes with SIGSTOP, which Windows does not have.");
    return 1;
  }
  return demonstrate(options);
}

async function demonstrate(options: DemoOptions): Promise<number> {
  const root = createWorkspace();
  process.once("exit", () => removeWorkspace(root));
  const interrupted = new AbortController();
  let exitCode = 1;
  for (const [signal, code] of Object.entries(SIGNALS))
    process.on(signal, () => {
      exitCode = code;
      interrupted.abort();
    });
  process.stdout.on("error", () => interrupted.abort());

  const hf = await openHoldfast({ root, owner: "user:demo" });
  try {
    const verdict = await fight(root, hf, options, interrupted.signal);
    return verdict.isGood ? 0 : 1;
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    console.error("Interrupted: no verdict. All workers have been ended.");
    return exitCode;
  } finally {
    await hf.close();
  }
}

async function fight(root: string, hf: Holdfast, options: DemoOptions, stop: AbortSignal): Promise<Verdict> {
  const crew: Crew = new Crew(root, options.workers, (event) => report(event));
  const board = new Scoreboard(crew.names, options.seconds * 1_000);
  const supervisor = new Supervisor(crew, stop);
  const view = openView(board);
  const report = (event: DemoEvent): void => {
    if (stop.aborted) return;
    view.note(event);
    supervisor.hear(event);
  };
  const abandon = (): void => {
    view.close();
    crew.destroy();
  };
  process.prependOnceListener("exit", abandon);
  stop.addEventListener("abort", abandon);
  const over = new AbortController();
  const following = followTakeovers(hf, crew, report, over.signal);
  try {
    await Promise.race([supervisor.run(options.seconds, () => board.begin()), following]);
    await crew.finish(FINISH_WITHIN_MS);
    stop.throwIfAborted();
  } finally {
    over.abort();
    abandon();
    await Promise.all([crew.gone(), following]);
    process.off("exit", abandon);
  }
  const verdict = judge(await collectEvidence(root, hf, crew));
  const width = process.stdout.columns || 80;
  const table = process.stdout.isTTY ? drawTable(board, width) : [];
  for (const line of [...table, "", ...drawVerdict(verdict, width)]) console.log(line);
  return verdict;
}

/** Takeovers are told by the audit chain, as they are written. */
async function followTakeovers(
  hf: Holdfast,
  crew: Crew,
  report: (event: DemoEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const entry of hf.audit.follow({ resource: "path", signal })) {
    const takeover = toTakeover(entry, crew.kills);
    if (takeover !== null) report({ kind: "takeover", ...takeover, ms: takeover.ms ?? 0 });
  }
}
