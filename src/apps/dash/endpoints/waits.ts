/** The endpoint `waits`: all waiters, and the holders that each waits for. */
import type { Sources } from "../sources.js";
import type { WaitsView } from "../views.js";

const MOST = 1_000;

export async function waits({ holdfast }: Sources): Promise<Omit<WaitsView, "now">> {
  const { holders, waiters } = await holdfast.waits({ limit: MOST });
  return { holders, waiters, is_all: waiters.length < MOST };
}
