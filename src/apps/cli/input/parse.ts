/**
 * Parses the words of a command line to a command of the table, its arguments and its flags. Everything it knows comes
 * from the table.
 */
import { HoldfastError } from "../../../base/errors.js";
import { nearest } from "../../../base/nearest.js";
import {
  type ArgumentSpec,
  type Command,
  type FlagSpec,
  GLOBAL_FLAGS,
  type Named,
  named,
  type RestSpec,
} from "../command.js";
import { flagValue, type Value } from "./values.js";

export interface Parsed {
  /** Null: no command was named, only perhaps a group (`holdfast lock --help`). */
  readonly row: Command | null;
  /** The words that were taken for a command. */
  readonly command: string;
  readonly args: ReadonlyMap<string, readonly string[]>;
  readonly flags: ReadonlyMap<string, Value>;
  /** What stood behind `--`. */
  readonly rest: readonly string[];
}

/** Flags that many type as a command: `holdfast help lock acquire`. */
const ASKED: ReadonlySet<string> = new Set(["help", "version"]);

/** `E_INVALID_ARGUMENT` with the command that shows the help as its next step. */
export function parse(words: readonly string[], table: readonly Command[]): Parsed {
  const end = words.indexOf("--");
  const before = [...(end < 0 ? words : words.slice(0, end))];
  const behind = end < 0 ? [] : words.slice(end + 1);
  const flags = new Map<string, Value>();
  const plain: string[] = [];
  let row: Command | null = null;
  for (let word = before.shift(); word !== undefined; word = before.shift()) {
    if (word.startsWith("-") && word !== "-") takeFlag(word, before, flags, row);
    else if (row === null && plain.length === 0 && ASKED.has(word)) flags.set(word, true);
    else {
      plain.push(word);
      if (row === null) {
        row = table.find((each) => each.name === plain.join(" ")) ?? null;
        if (row !== null) plain.length = 0;
      }
    }
  }
  const asksOnly = flags.has("help") || flags.has("version");
  if (row === null) {
    const isGroup = table.some((each) => each.name.startsWith(`${plain.join(" ")} `));
    if (plain.length > 0 && !(isGroup && asksOnly)) throw unknownCommand(plain, table);
    return { row, command: plain.join(" "), args: new Map(), flags, rest: behind };
  }
  if (asksOnly) return { row, command: row.name, args: new Map(), flags, rest: behind };
  const takesRest = row.rest !== undefined;
  const args = placeArguments(row, takesRest ? plain : [...plain, ...behind]);
  if (row.rest !== undefined) checkRest(row, row.rest, end < 0 ? null : behind);
  for (const flag of named(row.flags))
    if (flag.required && !flags.has(flag.name)) throw usage(row, `--${flag.name}`, "is needed");
  return { row, command: row.name, args, flags, rest: takesRest ? behind : [] };
}

/** Takes one flag, and the word behind it when it needs a value. */
function takeFlag(word: string, behind: string[], flags: Map<string, Value>, row: Command | null): void {
  const [, name = "", given] = /^--?([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
  const known: readonly Named<FlagSpec>[] = [...named(row?.flags), ...named(GLOBAL_FLAGS)];
  const flag = known.find((each) => (word.startsWith("--") ? each.name === name : each.short === name));
  if (flag === undefined) throw unknownFlag(word, row, known);
  if (flag.type === "boolean") {
    if (given !== undefined) throw usage(row, `--${flag.name}`, "takes no value");
    flags.set(flag.name, true);
    return;
  }
  const text = given ?? behind.shift();
  if (text === undefined) throw usage(row, `--${flag.name}`, "needs a value");
  if (flags.has(flag.name) && flag.repeat !== true && flag.type !== "pairs")
    throw usage(row, `--${flag.name}`, "was given twice");
  flags.set(flag.name, flagValue(flag, text, flags.get(flag.name)));
}

function placeArguments(row: Command, words: readonly string[]): Map<string, readonly string[]> {
  const left = [...words];
  const placed = new Map<string, readonly string[]>();
  for (const arg of named(row.args)) {
    const own = arg.many ? left.splice(0) : left.splice(0, 1);
    if (own.length === 0 && arg.optional !== true) throw usage(row, arg.name, "is missing");
    for (const word of own) checkWord(row, arg, word);
    placed.set(arg.name, own);
  }
  const [extra] = left;
  if (extra !== undefined) throw usage(row, JSON.stringify(extra), "is one word too many");
  return placed;
}

/** Nothing behind `--` is a variable that was not set: a job or gate without a command is another thing. */
function checkRest(row: Command, { name, optional }: RestSpec, behind: readonly string[] | null): void {
  if (behind === null && optional === true) return;
  if (behind === null) throw usage(row, name, `write -- and then ${name}`);
  if (behind.length === 0) throw usage(row, name, "is missing behind --");
  if (behind[0] === "") throw usage(row, name, "is empty");
}

/** An empty word is a variable that was not set: as a path it would mean the folder one is in. */
function checkWord(row: Command, { name, choices }: Named<ArgumentSpec>, word: string): void {
  // mutant: cli-empty-word: if (word === "") throw usage(row, name, "is empty"); →
  if (word === "") throw usage(row, name, "is empty");
  if (choices !== undefined && !choices.includes(word))
    throw usage(row, name, `${JSON.stringify(word)} is none of ${choices.join(", ")}`);
}

function unknownFlag(word: string, row: Command | null, known: readonly Named<FlagSpec>[]): HoldfastError {
  const name = word.split("=", 1)[0] ?? word;
  const flags = known.map((flag) => `--${flag.name}`);
  // `--gate` for `--add-gate`: a part of its name is nearer than any other word of its length.
  const whole = flags.filter((flag) => flag.endsWith(name.replace(/^-+/, "-")));
  const near = nearest(name, flags);
  const meant = whole.length > 0 ? whole : near === null ? [] : [near];
  return usage(row, name, `there is no such flag${meant.length === 0 ? "" : `; did you mean ${meant.join(", ")}?`}`);
}

function unknownCommand(plain: readonly string[], table: readonly Command[]): HoldfastError {
  const words = plain.slice(0, 2).join(" ");
  const below = table.filter((row) => row.name.startsWith(`${words} `)).map((row) => row.name.slice(words.length + 1));
  if (below.length > 0) return incomplete(words, below);
  const [first = ""] = plain;
  const names = table.map((row) => row.name);
  const near = nearest(words, names) ?? nearest(first, names);
  const group = names.some((name) => name.startsWith(`${first} `)) ? `${first} ` : "";
  // `holdfast acquire`: the group was left out.
  const without = group === "" ? names.filter((name) => name.endsWith(` ${first}`)) : [];
  const meant = near !== null ? [near] : without.length > 0 || group !== "" ? without : nearestGroup(first, names);
  const hint = meant.length === 0 ? "" : `; did you mean ${meant.join(", ")}?`;
  return new HoldfastError("E_INVALID_ARGUMENT", `there is no command ${JSON.stringify(words)}${hint}`, {
    details: { field: "command" },
    next: [meant[0] === undefined ? `holdfast ${group}--help` : `holdfast ${meant[0]} --help`],
  });
}

/** `holdfast lok`: no command is near, but the first word of some is. */
function nearestGroup(first: string, names: readonly string[]): readonly string[] {
  const group = nearest(
    first,
    names.flatMap((name) => (name.includes(" ") ? name.split(" ").slice(0, 1) : [])),
  );
  return group === null ? [] : [group];
}

/** Only a group was named. */
function incomplete(group: string, below: readonly string[]): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `say what to do: ${group} ${below.join(", ")}`, {
    details: { field: "command" },
    next: [`holdfast ${group} --help`],
  });
}

/** A usage error of this command. */
function usage(row: Command | null, field: string, message: string): HoldfastError {
  return new HoldfastError("E_INVALID_ARGUMENT", `${field}: ${message}`, {
    details: { field: field.replace(/^--/, "") },
    next: [row === null ? "holdfast --help" : `holdfast ${row.name} --help`],
  });
}
