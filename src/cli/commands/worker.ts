/** `holdfast worker`: runs jobs that are commands, until it is told to stop. */
import type { Context, Outcome } from "../context.js";
import { openTheJobs, writeSettings } from "../jobs.js";

const DEFAULT_GRACE = "30s";

export async function run(context: Context): Promise<Outcome> {
  const { flags, screen, signal } = context;
  const { config } = context.workspace();
  const [concurrency, lease, node] = [flags.integer("concurrency"), flags.text("lease"), flags.text("node")];
  const jobs = await openTheJobs(context);
  if (config.jobs !== undefined) await writeSettings(jobs, config.jobs);
  let told = "";
  const worker = jobs.work({
    commands: true,
    has: flags.list("has"),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(lease === undefined ? {} : { lease }),
    ...(node === undefined ? {} : { node }),
    onError: (error) => {
      const text = error instanceof Error ? error.message : String(error);
      if (text !== told) screen.say(`holdfast: ${text}; trying again`);
      told = text;
    },
  });
  screen.say(`worker ${worker.name} runs commands; Ctrl-C or SIGTERM stops it`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  const { running } = worker;
  if (running > 0) screen.say(`no more jobs; ${running} still run`);
  await worker.stop({ grace: flags.text("grace") ?? DEFAULT_GRACE });
  return { data: { worker: worker.name }, text: () => `worker ${worker.name} stopped` };
}
