/** Lists the commands that write somewhere below a folder and do not name the files, such as `find`, `xargs` and `tar`. */
import { basename } from "node:path";
import { writtenBy } from "./file-commands.js";
import { takingNext, valuesOf } from "./options.js";
import { folderOfPatch } from "./patch-command.js";
import { withoutPrefixes } from "./prefixes.js";
import { HERE, type Word } from "./words.js";

const DELETE = "-delete";
const XARGS_TAKING_NEXT = takingNext("EILPadns", [
  "arg-file",
  "delimiter",
  "max-args",
  "max-lines",
  "max-procs",
  "max-chars",
]);
/** Stands for what xargs adds to its command. */
const GIVEN: Word = { text: "{}", isPattern: false, isUnknown: false };

/** The folders. */
export function writtenBelow(name: string, operands: readonly Word[]): readonly Word[] {
  switch (name) {
    case "find":
      return writtenByFind(operands);
    case "xargs":
      return writtenByXargs(operands);
    case "tar":
      return isExtracting(operands) ? [valuesOf(operands, "C", "directory").at(-1) ?? HERE] : [];
    case "patch":
      return folderOfPatch(operands);
    default:
      return [];
  }
}

/** Of the folders, those that a find takes away with all that is in them, because it tests nothing. */
export function takenAwayWhole(name: string, operands: readonly Word[]): readonly Word[] {
  if (name !== "find") return [];
  const { starts, expression } = partsOfFind(operands);
  return expression.every(({ text }) => text === DELETE) && expression.length > 0 ? starts : [];
}

function partsOfFind(operands: readonly Word[]): { readonly starts: readonly Word[]; readonly expression: Word[] } {
  const words = operands.filter(({ text }) => !/^-([HLP]|O\d)$/.test(text));
  const end = words.findIndex(({ text }) => /^[-(!]/.test(text));
  const starts = end < 0 ? words : words.slice(0, end);
  return { starts: starts.length > 0 ? starts : [HERE], expression: end < 0 ? [] : words.slice(end) };
}

function writtenByFind(operands: readonly Word[]): readonly Word[] {
  const { starts, expression } = partsOfFind(operands);
  if (expression.some(({ text }) => text === DELETE)) return starts;
  return commandsOf(expression).flatMap((words) => writtenWith(words, "{}", starts));
}

/** What a command writes that is given names of files where `mark` stands: those are somewhere in `folders`. */
function writtenWith(words: readonly Word[], mark: string, folders: readonly Word[]): readonly Word[] {
  const [command, ...operands] = words;
  const written = writtenBy(basename(command?.text ?? ""), operands, null);
  return [...new Set(written.flatMap((word) => (word.text.includes(mark) ? folders : [word])))];
}

/** The names come from elsewhere: most are below the folder it runs in. */
function writtenByXargs(operands: readonly Word[]): readonly Word[] {
  const begin = operands.findIndex(
    ({ text }, at) => !text.startsWith("-") && !XARGS_TAKING_NEXT.test(operands[at - 1]?.text ?? ""),
  );
  if (begin < 0) return [];
  const options = operands.slice(0, begin);
  const mark = valuesOf(options, "I", "replace")[0]?.text;
  const isPlaced = mark !== undefined || options.some(({ text }) => text === "-i");
  const { words } = withoutPrefixes(operands.slice(begin));
  // mutant: hook-xargs: , GIVEN], mark ?? GIVEN.text, [HERE]) → , GIVEN], mark ?? GIVEN.text, [])
  return writtenWith(isPlaced ? words : [...words, GIVEN], mark ?? GIVEN.text, [HERE]);
}

/** What stands between `-exec` and its end. */
function commandsOf(expression: readonly Word[]): Word[][] {
  return expression.flatMap(({ text }, at) => {
    if (!/^-(exec|ok)(dir)?$/.test(text)) return [];
    const rest = expression.slice(at + 1);
    const end = rest.findIndex((word) => word.text === ";" || word.text === "+");
    return [end < 0 ? rest : rest.slice(0, end)];
  });
}

/** `tar xf`, `tar -xf`, `tar -z -x`, `tar --extract`, and not to its output. */
function isExtracting(operands: readonly Word[]): boolean {
  const letters = operands.flatMap(
    ({ text }, at) => (at === 0 ? /^-?([A-Za-z]+)/ : /^-([A-Za-z]+)/).exec(text)?.[1] ?? [],
  );
  const names = operands.map(({ text }) => text);
  if (letters.some((each) => each.includes("O")) || names.includes("--to-stdout")) return false;
  return letters.some((each) => each.includes("x")) || names.includes("--extract") || names.includes("--get");
}
