/** The endpoint `waits`: all waiters, and the holders that each waits for. */
import { circleText } from "../../../client/reading/circles.js";
import type { Sources } from "../sources.js";
import type { WaitsView } from "../views.js";

const MOST = 1_000;

export async function waits({ holdfast }: Sources): Promise<Omit<WaitsView, "now">> {
  const { holders, waiters, circles = [] } = await holdfast.waits({ limit: MOST });
  return { holders, waiters, circles: circles.map(circleText), is_all: waiters.length < MOST };
}
