/** Writes help from the table of commands: for all commands, for a group, or for one. */
import { given } from "../../base/given.js";
import { packageVersion } from "../../platform/version.js";
import {
  type ArgumentSpec,
  type Command,
  type FlagSpec,
  GLOBAL_FLAGS,
  GROUPS,
  type Named,
  named,
  type Outcome,
} from "./command.js";
import type { Parsed } from "./input/parse.js";
import type { Screen } from "./output/screen.js";
import { columns, wrap, wrapWords } from "./output/text.js";

export function version(): Outcome {
  const version = packageVersion();
  return { data: { version }, text: () => version };
}

export function help({ row, command }: Parsed, table: readonly Command[]): Outcome {
  if (row !== null) return { data: { help: describe(row) }, text: (screen) => helpOf(row, screen) };
  const rows = command === "" ? table : table.filter((each) => each.name.startsWith(`${command} `));
  return { data: { commands: rows.map(describe) }, text: (screen) => overview(rows, screen) };
}

/** Returns the command as data: everything but the code. */
function describe({ run: _run, ...row }: Command): unknown {
  const { args, flags } = row;
  return {
    ...row,
    ...given({ args: args && named(args), flags: flags && named(flags) }),
    usage: usageOf(row),
  };
}

function overview(rows: readonly Command[], screen: Screen): string {
  const parts = [
    screen.paint("bold", "holdfast") +
      " — locks with leases and fencing, for processes and agents that share a workspace",
    "usage: holdfast COMMAND [ARGUMENTS] [FLAGS]",
  ];
  for (const group of GROUPS) {
    const own = rows.filter((row) => row.group === group);
    if (own.length > 0)
      parts.push(
        `${screen.paint("bold", group)}\n${columns(
          own.map((row) => [row.name, row.summary]),
          screen.width,
        )}`,
      );
  }
  parts.push(`${screen.paint("bold", "flags of every command")}\n${flagLines(named(GLOBAL_FLAGS), screen.width)}`);
  parts.push("holdfast COMMAND --help says more. Durations: 500ms, 30s, 15m, 2h.");
  return parts.join("\n\n");
}

export function helpOf(row: Command, screen: Pick<Screen, "paint" | "width">): string {
  const { paint, width } = screen;
  const name = `holdfast ${row.name}`;
  const title = wrap(`${name} — ${row.summary}`, width, 2).replace(name, paint("bold", name));
  const parts = [title, wrapWords(["usage:", ...usageWords(row)], width, 2)];
  for (const paragraph of row.about ?? []) parts.push(wrap(paragraph, width, 0));
  const args = [...named(row.args), ...(row.rest === undefined ? [] : [row.rest])];
  if (args.length > 0)
    parts.push(
      `${paint("bold", "arguments")}\n${columns(
        args.map((arg) => [arg.name, argumentHelp(arg)]),
        width,
      )}`,
    );
  if (row.flags !== undefined) parts.push(`${paint("bold", "flags")}\n${flagLines(named(row.flags), width)}`);
  parts.push(`${paint("bold", "flags of every command")}\n${flagLines(named(GLOBAL_FLAGS), width)}`);
  if (row.examples?.length)
    parts.push(
      `${paint("bold", "examples")}\n${row.examples.map(([line, meaning]) => `${wrap(`# ${meaning}`, width, 2, 2)}\n  ${line}`).join("\n")}`,
    );
  return parts.join("\n\n");
}

/** `holdfast lock acquire KEY… [--mode MODE]`. */
export function usageOf(row: Omit<Command, "run">): string {
  return usageWords(row).join(" ");
}

/** Each with what belongs to it: `[--mode MODE]` is one. */
function usageWords(row: Omit<Command, "run">): string[] {
  const args = named(row.args).map((arg) => {
    const name = arg.many ? `${arg.name}…` : arg.name;
    return arg.optional ? `[${name}]` : name;
  });
  const flags = named(row.flags).map((flag) => (flag.required ? flagForm(flag) : `[${flagForm(flag)}]`));
  const rest = row.rest === undefined ? [] : row.rest.optional ? [`[-- ${row.rest.name}]`] : [`-- ${row.rest.name}`];
  return ["holdfast", row.name, ...args, ...flags, ...rest];
}

const VALUES = { text: "TEXT", duration: "DURATION", integer: "N", pairs: "NAME=VALUE", time: "TIME" } as const;

/** `--ttl DURATION`. */
export function flagForm(flag: Named<FlagSpec>): string {
  if (flag.type === "boolean") return `--${flag.name}`;
  return `--${flag.name} ${flag.value ?? flag.choices?.join("|") ?? VALUES[flag.type]}`;
}

function argumentHelp({ help, choices }: Pick<ArgumentSpec, "help" | "choices">): string {
  return choices === undefined ? help : `${help}: ${choices.join(", ")}`;
}

function flagLines(flags: readonly Named<FlagSpec>[], width: number): string {
  const rows = flags.map((flag): readonly [string, string] => [
    (flag.short === undefined ? "" : `-${flag.short}, `) + flagForm(flag),
    flag.help + (flag.repeat || flag.type === "pairs" ? " (repeatable)" : ""),
  ]);
  return columns(rows, width);
}
