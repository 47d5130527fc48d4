/** Finds the values of command-line options, in the forms that most commands accept. */
import type { Word } from "./words.js";

/** One that takes the next word. Of several letters only the last may. */
export function takingNext(letters: string, names: readonly string[] = []): RegExp {
  return new RegExp(`^(${[`-[^-${letters}]*[${letters}]`, ...names.map((name) => `--${name}`)].join("|")})$`);
}

/** What an option was given: `-o FILE`, `-sSo FILE`, `-oFILE`, `--output FILE`, `--output=FILE`. */
export function valuesOf(operands: readonly Word[], letter: string | null, name: string): readonly Word[] {
  const before = new RegExp(`^(${letter === null ? "" : `-[a-zA-Z#]*${letter}|`}--${name})$`);
  const around = new RegExp(`^(${letter === null ? "" : `-${letter}|`}--${name}=)(?=.)`);
  return operands.flatMap((word, at) => {
    if (before.test(word.text)) return operands.slice(at + 1, at + 2);
    const head = around.exec(word.text);
    return head === null ? [] : [{ ...word, text: word.text.slice(head[0].length) }];
  });
}
