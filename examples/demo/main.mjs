/**
 * `npm start`: worker processes fight over one workspace while a supervisor kills and freezes them; then the evidence is
 * read back and judged. The exit code is the verdict.
 */
import { ERRORS, openHoldfast } from "holdfast";
import { Crew } from "./crew.mjs";
import { collectEvidence } from "./evidence.mjs";
import { HELP, parseOptions } from "./options.mjs";
import { drawVerdict } from "./report.mjs";
import { Scoreboard } from "./scoreboard.mjs";
import { Supervisor } from "./supervisor.mjs";
import { drawTable } from "./table.mjs";
import { toTakeover } from "./takeovers.mjs";
import { judge } from "./verdict.mjs";
import { openView } from "./view.mjs";
import { createWorkspace, removeWorkspace } from "./workspace.mjs";

const FINISH_WITHIN_MS = 30_000;
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

process.exitCode = await main();

async function main() {
  let options;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error.message}\n\n${HELP}`);
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

async function demonstrate(options) {
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

async function fight(root, hf, options, stop) {
  const crew = new Crew(root, options.workers, (event) => report(event));
  const board = new Scoreboard(crew.names, options.seconds * 1_000);
  const supervisor = new Supervisor(crew, stop);
  const view = openView(board);
  const report = (event) => {
    if (stop.aborted) return;
    view.note(event);
    supervisor.hear(event);
  };
  const abandon = () => {
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
async function followTakeovers(hf, crew, report, signal) {
  for await (const entry of hf.audit.follow({ resource: "path", signal })) {
    const takeover = toTakeover(entry, crew.kills);
    if (takeover !== null) report({ kind: "takeover", ...takeover, ms: takeover.ms ?? 0 });
  }
}
