/** `holdfast completion SHELL`: a script made from the table. */
import type { Context, Outcome } from "../context.js";
import { type CommandRow, type FlagRow, GLOBAL_FLAGS } from "../row.js";
import { TABLE } from "../table.js";

export async function run(context: Context): Promise<Outcome> {
  const shell = context.arg("SHELL");
  const script =
    shell === "fish" ? fish() : shell === "zsh" ? `autoload -U +X bashcompinit && bashcompinit\n${bash()}` : bash();
  return { data: { shell, script }, text: () => script };
}

function flagsOf(row: CommandRow): readonly FlagRow[] {
  const own = row.flags ?? [];
  return [...own, ...GLOBAL_FLAGS.filter((flag) => !own.some((each) => each.name === flag.name))];
}

/** First words, and the second words behind each. */
function words(): ReadonlyMap<string, readonly string[]> {
  const tree = new Map<string, string[]>();
  for (const { name } of TABLE) {
    const [first = "", second] = name.split(" ");
    tree.set(first, [...(tree.get(first) ?? []), ...(second === undefined ? [] : [second])]);
  }
  return tree;
}

function bash(): string {
  const tree = words();
  const seconds = [...tree]
    .filter(([, below]) => below.length > 0)
    .map(([first, below]) => `    ${first}) COMPREPLY=( $(compgen -W "${below.join(" ")}" -- "$cur") ) ;;`);
  const flags = TABLE.map(
    (row) =>
      `    "${row.name}") flags="${flagsOf(row)
        .map((flag) => `--${flag.name}`)
        .join(" ")}" ;;`,
  );
  const choices = TABLE.flatMap((row) => [
    ...flagsOf(row).flatMap((flag) =>
      flag.choices ? [`    "${row.name} --${flag.name}") values="${flag.choices.join(" ")}" ;;`] : [],
    ),
    ...(row.args ?? []).flatMap((arg) =>
      arg.choices ? [`    "${row.name} ") words="${arg.choices.join(" ")}" ;;`] : [],
    ),
  ]);
  return `_holdfast() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" one="" two="" word flags="" values="" words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) if [ -z "$one" ]; then one="$word"; elif [ -z "$two" ]; then two="$word"; fi ;; esac
  done
  COMPREPLY=()
  if [ -z "$one" ]; then COMPREPLY=( $(compgen -W "${[...tree.keys()].join(" ")} ${GLOBAL_FLAGS.map((flag) => `--${flag.name}`).join(" ")}" -- "$cur") ); return; fi
  local command="$one $two"
  case "$command" in
${flags.join("\n")}
  esac
  if [ -z "$flags" ]; then command="$one"; case "$one" in
${flags.join("\n")}
  esac; fi
  case "$command $prev" in
${choices.join("\n")}
    *" --root") COMPREPLY=( $(compgen -d -- "$cur") ); return ;;
  esac
  case "$command " in
${choices.filter((line) => line.includes("words=")).join("\n")}
  esac
  if [ -n "$values" ]; then COMPREPLY=( $(compgen -W "$values" -- "$cur") ); return; fi
  if [ -z "$flags" ]; then case "$one" in
${seconds.join("\n")}
  esac; return; fi
  case "$cur" in -*) COMPREPLY=( $(compgen -W "$flags" -- "$cur") ) ;; *) COMPREPLY=( $(compgen -W "$words" -- "$cur") ) ;; esac
}
complete -o default -F _holdfast holdfast
`;
}

function fish(): string {
  const lines = ["complete -c holdfast -f"];
  const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  for (const [first, below] of words()) {
    const row = TABLE.find((each) => each.name === first);
    const about = row?.summary ?? below.join(", ");
    lines.push(`complete -c holdfast -n __fish_use_subcommand -a ${first} -d ${quote(about)}`);
    const notYet = below.map((second) => `not __fish_seen_subcommand_from ${second}`).join("; and ");
    for (const second of below) {
      const summary = TABLE.find((each) => each.name === `${first} ${second}`)?.summary ?? "";
      lines.push(
        `complete -c holdfast -n ${quote(`__fish_seen_subcommand_from ${first}; and ${notYet}`)} -a ${second} -d ${quote(summary)}`,
      );
    }
  }
  for (const row of TABLE) {
    const seen = row.name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    for (const flag of row.flags ?? [])
      lines.push(
        `complete -c holdfast -n ${quote(seen)} -l ${flag.name}${flag.type === "boolean" ? "" : " -r"}${flag.choices ? ` -a ${quote(flag.choices.join(" "))}` : ""} -d ${quote(flag.help)}`,
      );
    for (const arg of row.args ?? [])
      if (arg.choices) lines.push(`complete -c holdfast -n ${quote(seen)} -a ${quote(arg.choices.join(" "))}`);
  }
  for (const flag of GLOBAL_FLAGS)
    lines.push(`complete -c holdfast -l ${flag.name}${flag.type === "boolean" ? "" : " -r"} -d ${quote(flag.help)}`);
  return `${lines.join("\n")}\n`;
}
