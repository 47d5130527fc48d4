/** Runs the jobs that are commands, until a signal stops the worker. */
import { given } from "../../../base/given.js";
import type { ContextWith, Outcome } from "../command.js";
import { openTheJobs, writeSettings } from "./jobs.js";

const DEFAULT_GRACE = "30s";

interface WorkerFlags {
  readonly concurrency: number | undefined;
  readonly has: readonly string[];
  readonly lease: string | undefined;
  readonly grace: string | undefined;
  readonly node: string | undefined;
}

export async function runWorker(context: ContextWith<WorkerFlags>): Promise<Outcome> {
  const { flags, screen, signal } = context;
  const { concurrency, has, lease, grace = DEFAULT_GRACE, node } = flags;
  const { config } = context.workspace();
  const jobs = await openTheJobs(context);
  if (config.jobs !== undefined) await writeSettings(jobs, config.jobs);
  let told = "";
  const worker = jobs.work({
    commands: true,
    has,
    ...given({ concurrency, lease, node }),
    onError: (error) => {
      const text = error instanceof Error ? error.message : String(error);
      if (text !== told) screen.say(`holdfast: ${text}; trying again`);
      told = text;
    },
    onKindsDiffer: (kind) =>
      screen.say(`holdfast: live workers define the kind ${kind} differently; the strictest of their rules hold`),
  });
  screen.say(`worker ${worker.name} runs commands; Ctrl-C or SIGTERM stops it`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  const { running } = worker;
  if (running > 0) screen.say(`no more jobs; ${running} still run`);
  await worker.stop({ grace });
  return { data: { worker: worker.name }, text: () => `worker ${worker.name} stopped` };
}
