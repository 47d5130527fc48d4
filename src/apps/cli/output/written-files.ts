/** Shows the changes that a command will make to files of other programs, and writes them once they are confirmed. */
import { isatty } from "node:tty";
import type { ChangePlan, FileChange } from "../../../agents/hooks/install/change-plan.js";
import { count } from "../../../base/count-text.js";
import { HoldfastError } from "../../../base/errors.js";
import type { BaseContext, Outcome } from "../command.js";
import { harmless, type Screen } from "./screen.js";
import { readLine, writeError } from "./standard-streams.js";

export interface Writing {
  /** `ask`: only after a yes on the terminal. */
  readonly when: "at-once" | "ask";
  /** Shows the changes and writes nothing. */
  readonly isDry: boolean;
  /** What is left to do, for people. */
  readonly notes: readonly string[];
  /** Beside the files in `--json`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** For people when nothing changes. */
  readonly nothing: string;
  /** What to type to do it without a question. */
  readonly yes?: string;
}

export async function writeFiles({ screen }: BaseContext, plan: ChangePlan, writing: Writing): Promise<Outcome> {
  const { changes } = plan;
  const { isDry } = writing;
  const isAsked = writing.when === "ask" && !isDry && changes.length > 0;
  if (isAsked) askFirst(changes, screen, writing.yes ?? "--yes");
  if (!isDry) await plan.apply();
  return {
    data: { ...writing.data, files: changes, written: !isDry && changes.length > 0 },
    text: (shown) => textOf(changes, isDry, isAsked, shown) || writing.nothing,
    notes: isDry ? [] : writing.notes,
  };
}

/** `E_FORBIDDEN` when nobody is there to ask, and when the answer is no. */
function askFirst(changes: readonly FileChange[], screen: Screen, yes: string): void {
  const isAnybodyThere = isatty(0) && isatty(2) && !screen.json;
  if (isAnybodyThere) {
    writeError(`${harmless(diffs(changes, screen))}\n\nWrite ${count(changes.length, "file")}? [y/N] `);
    if (/^y(es)?$/i.test(readLine().trim())) return;
  }
  throw new HoldfastError("E_FORBIDDEN", "nothing was written: these changes need a yes", {
    details: { files: changes },
    next: [yes, `${yes.replace(/ --yes$/, "")} --dry-run`],
  });
}

function textOf(changes: readonly FileChange[], isDry: boolean, isShown: boolean, screen: Screen): string {
  const done = changes.map(
    ({ path, change }) => `${screen.paint("green", isDry ? WOULD[change] : DID[change])} ${path}`,
  );
  return [...(isShown || changes.length === 0 ? [] : [diffs(changes, screen), ""]), ...done].join("\n");
}

const DID = { create: "made", change: "changed", remove: "removed" } as const;
const WOULD = { create: "would make", change: "would change", remove: "would remove" } as const;

function diffs(changes: readonly FileChange[], screen: Screen): string {
  return changes
    .map(({ diff }) =>
      diff
        .split("\n")
        .map((line) => painted(line, screen))
        .join("\n"),
    )
    .join("\n");
}

function painted(line: string, screen: Screen): string {
  if (line.startsWith("---") || line.startsWith("+++")) return screen.paint("bold", line);
  return line.startsWith("+") ? screen.paint("green", line) : line.startsWith("-") ? screen.paint("red", line) : line;
}
