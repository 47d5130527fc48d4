/** `holdfast project set PROJECT`. */
import { invalidArgument } from "../../support/errors.js";
import type { Context, Outcome } from "../context.js";
import { openTheJobs } from "../jobs.js";

export async function run(context: Context): Promise<Outcome> {
  const [cap, mapCap, weight] = [capOf(context, "cap"), capOf(context, "map-cap"), weightOf(context)];
  if (cap === undefined && mapCap === undefined && weight === undefined)
    throw invalidArgument("cap", "say at least one of --cap, --map-cap, --weight");
  const jobs = await openTheJobs(context);
  const project = await jobs.setProject(context.arg("PROJECT"), {
    ...(cap === undefined ? {} : { cap }),
    ...(mapCap === undefined ? {} : { mapCap }),
    ...(weight === undefined ? {} : { weight }),
  });
  const limit = (of: number | null): string => (of === null ? "no limit" : `at most ${of}`);
  return {
    data: { project },
    text: () =>
      `${project.project}: ${limit(project.cap)}, ${limit(project.map_cap)} on maps, weight ${project.weight}; ${project.running} running`,
  };
}

function capOf({ flags }: Context, name: string): number | null | undefined {
  const text = flags.text(name);
  if (text === undefined || text === "none") return text === undefined ? undefined : null;
  return numberOf(text, name, /^\d{1,7}$/);
}

function weightOf({ flags }: Context): number | undefined {
  const text = flags.text("weight");
  return text === undefined ? undefined : numberOf(text, "weight", /^\d{1,7}(\.\d{1,6})?$/);
}

function numberOf(text: string, name: string, shape: RegExp): number {
  if (!shape.test(text)) throw invalidArgument(name, `${JSON.stringify(text)} is no number`);
  return Number(text);
}
