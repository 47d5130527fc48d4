/** `holdfast info ID`. */
import type { Context, Outcome } from "../context.js";
import { columns } from "../text.js";
import { openForReading } from "../worktrees.js";

export async function run(context: Context): Promise<Outcome> {
  const info = (await openForReading(context)).info(context.arg("ID"));
  const { warnings, ...facts } = info;
  return {
    data: info,
    text: (screen) =>
      columns(
        Object.entries(facts).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(" ") : String(value ?? "-"),
        ]),
        screen.width,
      ),
    notes: warnings.map((warning) => `warning: ${warning}`),
  };
}
