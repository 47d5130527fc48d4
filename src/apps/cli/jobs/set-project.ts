/** Sets the caps and the weight of a project. */
import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { ContextWith, Outcome } from "../command.js";
import { openTheJobs } from "./jobs.js";

interface ProjectFlags {
  readonly cap: string | undefined;
  readonly "map-cap": string | undefined;
  readonly weight: string | undefined;
}

export async function setProject(context: ContextWith<ProjectFlags, { readonly PROJECT: string }>): Promise<Outcome> {
  const { flags } = context;
  const [cap, mapCap, weight] = [capOf(flags, "cap"), capOf(flags, "map-cap"), weightOf(flags)];
  if (cap === undefined && mapCap === undefined && weight === undefined)
    throw invalidArgument("cap", "say at least one of --cap, --map-cap, --weight");
  const jobs = await openTheJobs(context);
  const project = await jobs.setProject(context.args.PROJECT, given({ cap, mapCap, weight }));
  const limit = (of: number | null): string => (of === null ? "no limit" : `at most ${of}`);
  return {
    data: { project },
    text: () =>
      `${project.project}: ${limit(project.cap)}, ${limit(project.map_cap)} on maps, weight ${project.weight}; ${project.running} running`,
  };
}

function capOf(flags: ProjectFlags, name: "cap" | "map-cap"): number | null | undefined {
  const text = flags[name];
  if (text === undefined || text === "none") return text === undefined ? undefined : null;
  return numberOf(text, name, /^\d{1,7}$/);
}

function weightOf({ weight }: ProjectFlags): number | undefined {
  return weight === undefined ? undefined : numberOf(weight, "weight", /^\d{1,7}(\.\d{1,6})?$/);
}

function numberOf(text: string, name: string, shape: RegExp): number {
  if (!shape.test(text)) throw invalidArgument(name, `${JSON.stringify(text)} is no number`);
  return Number(text);
}
