/**
 * Finds the files that `patch` writes: the file in its arguments, else the files that the patch names, below its
 * folder.
 */
import { takingNext, valuesOf } from "./options.js";
import { HERE, type Word } from "./words.js";

const TAKING_NEXT = takingNext("BDFVYdgioprz", ["directory", "fuzz", "input", "output", "reject-file", "strip"]);

export function filesToldPatch(operands: readonly Word[]): readonly Word[] {
  if (isOnlyTried(operands) || foldersTold(operands).length > 0) return [];
  const output = valuesOf(operands, "o", "output");
  return output.length > 0 ? output : operands.filter((_, at) => isPlain(operands, at)).slice(0, 1);
}

export function folderOfPatch(operands: readonly Word[]): readonly Word[] {
  if (isOnlyTried(operands) || filesToldPatch(operands).length > 0) return [];
  return [foldersTold(operands).at(-1) ?? HERE];
}

function foldersTold(operands: readonly Word[]): readonly Word[] {
  return valuesOf(operands, "d", "directory");
}

function isOnlyTried(operands: readonly Word[]): boolean {
  return operands.some(({ text }) => text === "--dry-run");
}

function isPlain(operands: readonly Word[], at: number): boolean {
  return !operands[at]?.text.startsWith("-") && !TAKING_NEXT.test(operands[at - 1]?.text ?? "");
}
