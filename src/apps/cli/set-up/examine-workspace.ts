/**
 * `holdfast doctor`: looks for faults of the workspace, repairs those that are safe to repair, and formats the
 * findings.
 */

import { ERRORS, isHoldfastError } from "../../../base/errors.js";
import type { Workspace } from "../../../features/configuration.js";
import { raiseAfterRestore } from "../../doctor/after-restore.js";
import { type DoctorReport, examine, reportOfConfig } from "../../doctor/examine.js";
import type { Finding } from "../../doctor/finding.js";
import type { ContextWith, Outcome } from "../command.js";
import type { Screen } from "../output/screen.js";
import { wrap } from "../output/text.js";

interface DoctorFlags {
  readonly strict: boolean;
  readonly repair: boolean;
  readonly "after-restore": boolean;
  readonly target: readonly string[];
  readonly database: readonly string[];
}

export async function examineWorkspace(context: ContextWith<DoctorFlags>): Promise<Outcome> {
  if (context.flags["after-restore"]) return afterRestore(context);
  const { workspace, report } = await look(context);
  return {
    data: { root: workspace?.root ?? null, store: workspace?.where ?? null, ...report },
    text: (screen) => textOf(report, workspace?.where ?? "", screen),
    exit: exitFor(report, context.flags.strict),
  };
}

async function afterRestore(context: ContextWith<DoctorFlags>): Promise<Outcome> {
  const workspace = context.workspace();
  const { target: targets, database: databases } = context.flags;
  const report = await raiseAfterRestore(workspace, { targets, databases });
  const { marks, raised } = report;
  return {
    data: { root: workspace.root, store: workspace.where, ...report },
    text: () =>
      raised.length === 0
        ? `${marks} marks, none above the counters of ${workspace.where}`
        : raised
            .map(({ tree, from, to, mark, where }) => `raised ${tree} from ${from} to ${to}, above ${mark} in ${where}`)
            .join("\n"),
  };
}

/** A workspace whose configuration cannot be used is a finding; where there is none, there is nothing to look at. */
async function look(context: ContextWith<DoctorFlags>): Promise<{ workspace: Workspace | null; report: DoctorReport }> {
  let workspace: Workspace;
  try {
    workspace = context.workspace();
  } catch (error) {
    if (!isHoldfastError(error, "E_CONFIG") || error.details.path === undefined) throw error;
    return { workspace: null, report: reportOfConfig(error) };
  }
  return { workspace, report: await examine(workspace, { repair: context.flags.repair }) };
}

/** Errors are always a failure, also a repair that did not work; warnings only when asked to be strict. */
function exitFor({ findings, repaired }: DoctorReport, isStrict: boolean): number {
  const isBad = ({ severity }: Finding): boolean => severity === "error" || (isStrict && severity === "warning");
  return findings.some(isBad) || repaired.some(({ ok }) => !ok) ? ERRORS.E_STORE_CORRUPT.exit : 0;
}

function textOf({ findings, repaired }: DoctorReport, store: string, screen: Screen): string {
  const done = repaired.map(({ code, message, ok }) => {
    const mark = ok ? "repaired" : "not repaired";
    return paintFirst(wrap(`${mark} ${code}: ${message}`, screen.width, 4), mark, ok ? "green" : "red", screen);
  });
  if (findings.length === 0) return [...done, wrap(`nothing is wrong with ${store}`, screen.width, 4)].join("\n");
  return [...done, ...findings.map((finding) => findingText(finding, screen))].join("\n");
}

const COLOURS = { error: "red", warning: "yellow", info: "dim" } as const;

function findingText({ severity, code, message, next }: Finding, screen: Screen): string {
  const head = wrap(`${severity} ${code}: ${message}`, screen.width, 4);
  const steps = next.map((step) => wrap(`→ ${step}`, screen.width, 2, 4));
  return [paintFirst(head, severity, COLOURS[severity], screen), ...steps].join("\n");
}

function paintFirst(text: string, word: string, style: Parameters<Screen["paint"]>[0], screen: Screen): string {
  return text.startsWith(word) ? screen.paint(style, word) + text.slice(word.length) : text;
}
