/** The commands of jobs: adding, listing and running them, and caps. */
import {
  type ArgumentSpec,
  type Command,
  command,
  type FlagSpec,
  type FlagSpecs,
  type FlagValues,
} from "../command.js";

const STATES = ["scheduled", "ready", "waiting", "running", "done", "failed", "cancelled"] as const;
const ID = { help: "the job, such as 42" } as const satisfies ArgumentSpec;
const CAP = {
  type: "text",
  value: "N",
  help: "runs at once; none for the cap of all projects",
} as const satisfies FlagSpec;

const ADD = {
  project: { type: "text", required: true, help: "whose it is: caps and fairness go by project" },
  map: { type: "text", help: "the map it works on: counts against the cap for maps" },
  class: { type: "text", choices: ["cpu", "io"], help: "each has a cap of its own; default io" },
  lock: {
    type: "text",
    value: "KEY:MODE",
    repeat: true,
    help: "read, upgradeable or write; default write",
  },
  payload: { type: "text", value: "JSON", help: "what it is about, for the program that runs it" },
  priority: { type: "integer", help: "higher goes first, within its project; default 0" },
  at: {
    type: "time",
    isAhead: true,
    help: "not before: 2026-01-31T12:00:00Z, or 15m for that long from now",
  },
  delay: { type: "duration", help: "not before this long from now; instead of --at" },
  cron: {
    type: "text",
    value: "TIMES",
    help: "adds a job like this at these times, such as '0 3 * * *'; cancel ends it",
  },
  "time-zone": { type: "text", value: "ZONE", help: "of --cron, such as Europe/Berlin; default UTC" },
  unique: { type: "text", value: "NAME", help: "while a job of this name is not over, gives that one" },
  attempts: { type: "integer", help: "how often it may fail; default 3" },
  timeout: { type: "duration", help: "a run that takes longer is ended and has failed" },
  "lock-wait": { type: "duration", help: "how long it may wait for its locks; default 10m" },
  needs: { type: "text", value: "LABEL", repeat: true, help: "only a worker that --has it runs it" },
} as const satisfies FlagSpecs;
export type AddFlags = FlagValues<typeof ADD>;

export const JOBS: readonly Command[] = [
  command({
    name: "job add",
    group: "jobs",
    summary: "add a job: a command, or a kind that a program of yours runs",
    about: [
      "With CMD, any holdfast worker runs it, in the folder where that worker was started. Without, a program that has defined the KIND.",
      "Its locks are taken when it starts, all or none. A job that cannot have them steps aside and blocks nobody; after --lock-wait the attempt has failed.",
    ],
    args: { KIND: { help: "what sort of job it is, such as render" } },
    flags: ADD,
    rest: { name: "CMD", help: "the command and its arguments", optional: true },
    examples: [
      ["holdfast job add render --project alpha -- ./render.sh m1", "a command"],
      ["holdfast job add report --project alpha --cron @daily --unique report -- ./report.sh", "once a day"],
      ["holdfast job add edit --project alpha --map m1 --lock project:alpha/map:m1:write -- ./edit.sh", "with a lock"],
    ],
    async run(context) {
      const { addJob } = await import("../jobs/add-job.js");
      return addJob(context);
    },
  }),
  command({
    name: "job list",
    group: "jobs",
    summary: "jobs in the order they were added, a page at a time",
    about: [
      "A job whose needs no worker that is there meets is marked. --state failed lists the dead letters.",
      "--watch shows what runs and how much waits, a lane for each project: on a terminal live, else a line for each change, with --json a JSON line. Ends at Ctrl-C.",
    ],
    flags: {
      watch: { type: "boolean", help: "what goes on, live; with --project only there" },
      project: { type: "text", help: "only of this one" },
      state: { type: "text", choices: STATES, help: "only these" },
      limit: { type: "integer", help: "at most this many, up to 1000; default 100" },
      after: { type: "integer", value: "ID", help: "go on behind this one" },
    },
    examples: [
      ["holdfast job list --state failed", "what has failed for good?"],
      ["holdfast job list --watch", "what goes on?"],
    ],
    async run(context) {
      const { listJobs } = await import("../jobs/list-jobs.js");
      return listJobs(context);
    },
  }),
  command({
    name: "job show",
    group: "jobs",
    summary: "all about a job",
    args: { ID },
    examples: [["holdfast job show 42", "how is it?"]],
    async run(context) {
      const { jobIdOf, jobText, openTheJobs } = await import("../jobs/jobs.js");
      const id = jobIdOf(context.args.ID);
      const job = await (await openTheJobs(context)).get(id);
      return { data: { job }, text: (screen) => jobText(job, screen) };
    },
  }),
  command({
    name: "job wait",
    group: "jobs",
    summary: "until a job is over",
    about: ["Exit code 0 when it is done, 1 when it failed or was cancelled, 75 when the time was up first."],
    args: { ID },
    flags: { wait: { type: "duration", help: "how long at most; default 10m" } },
    examples: [["holdfast job wait 42 --wait 1h", "go on when it is done"]],
    async run(context) {
      const { waitForJob } = await import("../jobs/job-results.js");
      return waitForJob(context);
    },
  }),
  command({
    name: "job cancel",
    group: "jobs",
    summary: "end a job",
    about: ["One that has not begun is over at once. One that runs is told within two seconds, and its command ended."],
    args: { ID },
    examples: [["holdfast job cancel 42", "no longer wanted"]],
    async run(context) {
      const { jobIdOf, jobOutcome, openTheJobs } = await import("../jobs/jobs.js");
      const id = jobIdOf(context.args.ID);
      const jobs = await openTheJobs(context);
      const { state: before } = await jobs.get(id);
      const job = await jobs.cancel(id);
      if (job.state === "running") return jobOutcome("told to stop:", job);
      return jobOutcome(job.state === "cancelled" && before !== "cancelled" ? "cancelled" : "over already:", job);
    },
  }),
  command({
    name: "job retry",
    group: "jobs",
    summary: "begin a job anew that failed or was cancelled",
    args: { ID },
    examples: [["holdfast job retry 42", "with all its attempts"]],
    async run(context) {
      const { jobIdOf, jobOutcome, openTheJobs } = await import("../jobs/jobs.js");
      const id = jobIdOf(context.args.ID);
      const jobs = await openTheJobs(context);
      const found = await jobs.get(id);
      if (found.state === "failed" || found.state === "cancelled") return jobOutcome("retried", await jobs.retry(id));
      const waits = found.state === "scheduled" || found.state === "ready" || found.state === "waiting";
      return jobOutcome(waits ? "nothing to retry, it waits already:" : "neither failed nor cancelled:", found);
    },
  }),
  command({
    name: "job logs",
    group: "jobs",
    summary: "the end of what a command printed in its last run",
    about: ["At most 64 Ki characters, kept when the run is over."],
    args: { ID },
    examples: [["holdfast job logs 42", "why did it fail?"]],
    async run(context) {
      const { showLogs } = await import("../jobs/job-results.js");
      return showLogs(context);
    },
  }),
  command({
    name: "worker",
    group: "jobs",
    summary: "run jobs that are commands",
    about: [
      "Start as many as you like, also on one machine. The caps in holdfast.config.json (jobs) are written into the store first.",
      "SIGTERM or Ctrl-C: takes no more, waits for what runs, and hands it back after --grace: its command is ended and the attempt does not count.",
      "When a worker is killed its commands are ended at once by a small process beside it, and their jobs are run again after the lease.",
    ],
    flags: {
      concurrency: { type: "integer", help: "runs at once; default 4" },
      has: { type: "text", value: "LABEL", repeat: true, help: "what this machine can reach, for --needs" },
      lease: { type: "duration", help: "after this silence its runs are given on; default 30s" },
      grace: { type: "duration", help: "how long it waits for its runs when it stops; default 30s" },
      node: { type: "text", value: "NAME", help: "the name of this machine; default its host name" },
    },
    examples: [["holdfast worker --concurrency 8 --has fs:projects-a", "eight at once, with that disk"]],
    async run(context) {
      const { runWorker } = await import("../jobs/run-worker.js");
      return runWorker(context);
    },
  }),
  command({
    name: "project set",
    group: "jobs",
    summary: "caps and weight of a project",
    about: ["Takes effect at the next start of a job. Lowering a cap lets what runs go on."],
    args: { PROJECT: { help: "the project" } },
    flags: {
      cap: CAP,
      "map-cap": { ...CAP, help: "runs on maps at once; none for the one of all projects" },
      weight: { type: "text", value: "W", help: "its share of time, against the others; default 1" },
    },
    examples: [["holdfast project set alpha --cap 4 --weight 3", "at most four at once, three shares"]],
    async run(context) {
      const { setProject } = await import("../jobs/set-project.js");
      return setProject(context);
    },
  }),
];
