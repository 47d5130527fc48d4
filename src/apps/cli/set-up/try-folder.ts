/**
 * `holdfast selftest`: tries on a folder the system facilities that locks depend on, and shows each result as it
 * arrives.
 */

import { ERRORS } from "../../../base/errors.js";
import { type CheckResult, runSelftest } from "../../selftest/run.js";
import type { Outcome } from "../command.js";
import type { Screen } from "../output/screen.js";
import { wrap } from "../output/text.js";

export async function tryFolder(folder: string, screen: Screen): Promise<Outcome> {
  const isLive = screen.isTerminal && !screen.json && !screen.quiet;
  const report = await runSelftest(folder, {
    onResult: (result) => (isLive ? screen.write(`${lineOf(result, screen)}\n`) : undefined),
  });
  const verdict = report.ok
    ? `locks hold in ${report.dir} (${report.ms} ms)`
    : `locks do not hold in ${report.dir}: see what failed above`;
  return {
    data: { selftest: report },
    text: () => {
      const lines = isLive ? [] : report.checks.map((result) => lineOf(result, screen));
      return [...lines, wrap(verdict, screen.width, 0)].join("\n");
    },
    exit: report.ok ? 0 : ERRORS.E_CONFIG.exit,
  };
}

const MARKS = { ok: ["green", "ok"], warning: ["yellow", "warning"], failed: ["red", "failed"] } as const;

function lineOf({ name, result, proves, problem, next }: CheckResult, screen: Screen): string {
  const [style, mark] = MARKS[result];
  const line = wrap(`${mark.padEnd(8)}${name}: ${proves}`, screen.width, 8);
  const said = problem === null ? [] : [wrap(problem, screen.width, 0, 8)];
  const steps = next.map((step) => wrap(`→ ${step}`, screen.width, 2, 8));
  return [line.replace(mark, () => screen.paint(style, mark)), ...said, ...steps].join("\n");
}
