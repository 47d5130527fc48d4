// One process that fills a board and changes its issues.
import { serve } from "../serve.mjs";
import { median } from "../statistics.mjs";

serve({
  async fill({ board }, { count }) {
    const lines = Array.from({ length: count }, (_, at) => ({
      id: `bd-${at}`,
      title: `Issue number ${at}`,
      description: "Some words about what has to be done. ".repeat(4),
      status: "open",
      priority: at % 5,
      labels: [`area-${at % 20}`],
    }));
    await board.import(lines.map((line) => JSON.stringify(line)).join("\n"), "beads");
  },
  /** The median time of a change of one issue, in milliseconds. */
  async update({ board }, { count }) {
    const times = [];
    for (let at = 0; at < count; at += 1) {
      const start = performance.now();
      await board.update(String(1 + (at % 50)), { title: `changed ${at} ${start}` });
      times.push(performance.now() - start);
    }
    return median(times);
  },
});
