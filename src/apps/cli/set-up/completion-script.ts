/** Writes the completion script of a shell from the table of commands. */
import { type Command, type FlagSpec, GLOBAL_FLAGS, type Named, named } from "../command.js";
import { TABLE } from "../table.js";

const GLOBALS: readonly Named<FlagSpec>[] = named(GLOBAL_FLAGS);

export function completionScript(shell: "bash" | "zsh" | "fish"): string {
  if (shell === "fish") return fish();
  return shell === "zsh" ? `autoload -U +X bashcompinit && bashcompinit\n${bash()}` : bash();
}

function flagsOf(row: Command): readonly Named<FlagSpec>[] {
  const own = named(row.flags);
  return [...own, ...GLOBALS.filter((flag) => !own.some((each) => each.name === flag.name))];
}

/** What may follow the words of a command that are there already: `` → first words, `issue` → …, `issue gate` → pass, fail. */
function wordsAfter(): ReadonlyMap<string, ReadonlySet<string>> {
  const tree = new Map<string, Set<string>>();
  for (const { name } of TABLE) {
    const parts = name.split(" ");
    for (const [at, part] of parts.entries()) {
      const before = parts.slice(0, at).join(" ");
      tree.set(before, (tree.get(before) ?? new Set<string>()).add(part));
    }
  }
  return tree;
}

function bash(): string {
  const globals = GLOBALS.map((flag) => `--${flag.name}`);
  const valued = GLOBALS.filter((flag) => flag.type !== "boolean").map((flag) => `--${flag.name}`);
  const after = [...wordsAfter()].map(
    ([before, words]) => `    "${before}") words="${[...words, ...(before === "" ? globals : [])].join(" ")}" ;;`,
  );
  const flags = TABLE.map(
    (row) =>
      `    "${row.name}") flags="${flagsOf(row)
        .map((flag) => `--${flag.name}`)
        .join(" ")}" ;;`,
  );
  const values = TABLE.flatMap((row) =>
    flagsOf(row).flatMap((flag) =>
      flag.choices ? [`    "${row.name} --${flag.name}") values="${flag.choices.join(" ")}" ;;`] : [],
    ),
  );
  const choices = TABLE.flatMap((row) =>
    named(row.args).flatMap((arg) => (arg.choices ? [`    "${row.name}") words="${arg.choices.join(" ")}" ;;`] : [])),
  );
  // Bash breaks words at = : and @ too, so what follows one of them belongs to the word before. Behind -- stands another
  // command: no answer lets the shell complete names of files.
  return `_holdfast() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" plain="" command="" skip="" word flags="" values="" words=""
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in [=:@]) skip=1; continue ;; esac
    if [ -n "$skip" ]; then skip=""; continue; fi
    case "$word" in
      --) return ;;
      ${valued.join("|")}) skip=1 ;;
      -*) ;;
      *) if [ -z "$command" ]; then plain="\${plain:+$plain }$word"; fi
        case "$plain" in ${TABLE.map((row) => `"${row.name}"`).join("|")}) command="$plain" ;; esac ;;
    esac
  done
  case "$prev" in --root) COMPREPLY=( $(compgen -d -- "$cur") ); return ;; esac
  if [ -z "$command" ]; then case "$plain" in
${after.join("\n")}
    esac; COMPREPLY=( $(compgen -W "$words" -- "$cur") ); return
  fi
  case "$command $prev" in
${values.join("\n")}
  esac
  if [ -n "$values" ]; then COMPREPLY=( $(compgen -W "$values" -- "$cur") ); return; fi
  case "$command" in
${flags.join("\n")}
  esac
  case "$command" in
${choices.join("\n")}
  esac
  case "$cur" in -*) COMPREPLY=( $(compgen -W "$flags" -- "$cur") ) ;; *) COMPREPLY=( $(compgen -W "$words" -- "$cur") ) ;; esac
}
complete -o default -F _holdfast holdfast
`;
}

function fish(): string {
  const lines = ["complete -c holdfast -f"];
  const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const tree = wordsAfter();
  for (const [before, words] of tree) {
    // `gate` is a command of its own and a word of `issue gate`.
    const rivals = [...tree.keys()].filter((each) => each.endsWith(` ${before}`)).map((each) => each.split(" ")[0]);
    const when = [
      ...before.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`),
      ...[...words, ...rivals].map((word) => `not __fish_seen_subcommand_from ${word}`),
    ].join("; and ");
    for (const word of words) {
      const name = before === "" ? word : `${before} ${word}`;
      const about = TABLE.find((row) => row.name === name)?.summary ?? [...(tree.get(name) ?? [])].join(", ");
      const condition = before === "" ? "__fish_use_subcommand" : quote(when);
      lines.push(`complete -c holdfast -n ${condition} -a ${word} -d ${quote(about)}`);
    }
  }
  for (const row of TABLE) {
    const seen = row.name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    for (const flag of named(row.flags))
      lines.push(
        `complete -c holdfast -n ${quote(seen)} -l ${flag.name}${flag.type === "boolean" ? "" : " -r"}${flag.choices ? ` -a ${quote(flag.choices.join(" "))}` : ""} -d ${quote(flag.help)}`,
      );
    for (const arg of named(row.args))
      if (arg.choices) lines.push(`complete -c holdfast -n ${quote(seen)} -a ${quote(arg.choices.join(" "))}`);
  }
  for (const flag of GLOBALS)
    lines.push(`complete -c holdfast -l ${flag.name}${flag.type === "boolean" ? "" : " -r"} -d ${quote(flag.help)}`);
  return `${lines.join("\n")}\n`;
}
