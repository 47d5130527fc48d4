/** Selects the variables of the worker's environment that the process of a job gets. */

/** A worker may itself be the command of a run, which its jobs are no part of: what they take nests in nothing of it. */
const OF_A_RUN = ["HOLDFAST_RESOURCE", "HOLDFAST_FENCING_TOKEN", "HOLDFAST_LEASE_TOKEN", "HOLDFAST_OUTER"];

export function jobEnvironment(ofWorker: NodeJS.ProcessEnv, job: number): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...ofWorker, HOLDFAST_JOB: String(job) };
  for (const name of OF_A_RUN) delete env[name];
  return env;
}
