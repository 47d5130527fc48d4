/** Commands that write somewhere below a folder: they alone know which files. */
import { writtenBy } from "./file-commands.js";
import { valuesOf } from "./options.js";
import { folderOfPatch } from "./patch-command.js";
import { HERE, type Word } from "./words.js";

const DELETE = "-delete";

/** The folders. */
export function writtenBelow(name: string, operands: readonly Word[]): readonly Word[] {
  switch (name) {
    case "find":
      return writtenByFind(operands);
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
  return commandsOf(expression).flatMap(([command, ...words]) => {
    const written = writtenBy(command?.text ?? "", words, null);
    return written.flatMap((word) => (word.text.includes("{}") ? starts : [word]));
  });
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
