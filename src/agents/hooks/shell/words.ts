/**
 * Splits a shell line into simple commands: their words, and the files that they are redirected to. It implements only
 * a part of the shell's grammar; a word whose value it cannot know (a variable, a substitution) is marked, so that no
 * caller uses it as a name.
 */
import { isAbsolute, join } from "node:path";

export interface Word {
  readonly text: string;
  /** Contains what only the shell can expand: a variable, a command, a pattern. */
  readonly isPattern: boolean;
  readonly isUnknown: boolean;
}

/** The folder in which the command runs. */
export const HERE: Word = { text: ".", isPattern: false, isUnknown: false };

/** The same word, from where a folder leads. */
export function below(folder: Word, word: Word): Word {
  if (isAbsolute(word.text)) return word;
  return { ...word, text: join(folder.text, word.text), isUnknown: word.isUnknown || folder.isUnknown };
}

export interface SimpleCommand {
  readonly words: readonly Word[];
  /** Files behind `>`, `>>`, `>|`, `&>`, `>&`. */
  readonly written: readonly Word[];
  /** The lines of a here document, when there is one. */
  readonly document: string | null;
  /** In how many subshells it runs: what it does to its folder ends with them. */
  readonly depth: number;
}

interface Building {
  words: Word[];
  written: Word[];
  documentEnd: string | null;
  document: string | null;
  depth: number;
  isPiped: boolean;
}

/** Commands within commands end somewhere. */
const DEEPEST = 50;

const fresh = (depth: number, isPiped = false): Building => ({
  words: [],
  written: [],
  documentEnd: null,
  document: null,
  depth,
  isPiped,
});

/**
 * Never throws: what is no proper shell gives the words that could be made out. Commands within a command, as in `$(…)`,
 * come before it, one subshell deeper. So are those of a pipeline, and what `&` sends to the background. Between two
 * subshells there is always a command of the shell around them, if only an empty one.
 */
export function simpleCommands(line: string): SimpleCommand[] {
  return new Scanner(line, 0).scan();
}

class Scanner {
  readonly #line: string;
  readonly #done: Building[] = [];
  /** Where the list of commands begins that a `&` would send to the background, by depth. */
  readonly #lists: number[] = [];
  #at = 0;
  #depth: number;
  #current: Building;
  /** Whose documents begin with the next line. */
  #awaiting: Building[] = [];
  /** What the next word is. */
  #role: "word" | "written" | "read" | "document" = "word";

  constructor(line: string, depth: number) {
    this.#line = line.replaceAll("\\\n", "");
    this.#depth = depth;
    this.#current = fresh(depth);
  }

  scan(): Building[] {
    while (this.#at < this.#line.length) this.#step();
    this.#finish();
    return this.#done;
  }

  #step(): void {
    const rest = this.#line.slice(this.#at);
    const blank = /^[ \t\r]+/.exec(rest);
    if (blank !== null) this.#at += blank[0].length;
    else if (rest.startsWith("#")) this.#at += (/^[^\n]*/.exec(rest)?.[0] ?? "").length;
    else if (rest.startsWith("\n")) this.#newLine();
    else if (!this.#redirection(rest) && !this.#separator(rest)) this.#take(this.#word());
  }

  #redirection(rest: string): boolean {
    const document = /^\d*<<-?(?!<)/.exec(rest);
    const both = /^>&(?=[ \t]*[^\s\d&|;<>()-])/.exec(rest);
    const found = document ?? both ?? /^(&>>?|\d*>>?\|?(?!&)|\d*<<<|\d*<(?!\()|\d*[<>]&)/.exec(rest);
    if (found === null) return false;
    this.#at += found[0].length;
    const sign = found[0];
    if (document !== null) this.#role = "document";
    else if (both === null && (sign.endsWith("&") || sign.includes("<"))) this.#role = "read";
    else this.#role = "written";
    return true;
  }

  #separator(rest: string): boolean {
    const found = /^(\|\||&&|;;|\|&|[;&|(){}](?=\s|$|[;&|()])|[;&|()])/.exec(rest);
    if (found === null) return false;
    const [sign] = found;
    this.#at += sign.length;
    if (sign === "(") this.#depth++;
    if (sign === ")") this.#depth = Math.max(0, this.#depth - 1);
    const isPipe = sign === "|" || sign === "|&";
    // mutant: hook-pipeline: if (isPipe) this.#current.isPiped = true; →
    if (isPipe) this.#current.isPiped = true;
    this.#finish(isPipe);
    // mutant: hook-background: === "&") this.#sendToBackground(); → .length > 1) this.#sendToBackground();
    if (sign === "&") this.#sendToBackground();
    if ([";", ";;", "&", "("].includes(sign)) this.#lists[this.#depth] = this.#done.length;
    return true;
  }

  #sendToBackground(): void {
    for (const each of this.#done.slice(this.#lists[this.#depth] ?? 0)) each.depth++;
    this.#done.push(fresh(this.#depth));
  }

  #newLine(): void {
    this.#at++;
    this.#finish();
    this.#lists[this.#depth] = this.#done.length;
    for (const building of this.#awaiting.splice(0)) building.document = this.#readDocument(building.documentEnd ?? "");
  }

  #readDocument(end: string): string {
    const lines: string[] = [];
    while (this.#at < this.#line.length) {
      const stop = this.#line.indexOf("\n", this.#at);
      const text = this.#line.slice(this.#at, stop < 0 ? undefined : stop);
      this.#at = stop < 0 ? this.#line.length : stop + 1;
      if (text.replace(/^\t+/, "") === end) break;
      lines.push(text);
    }
    return lines.join("\n");
  }

  #take(word: Word): void {
    if (this.#role === "word") this.#current.words.push(word);
    if (this.#role === "written") this.#current.written.push(word);
    if (this.#role === "document") {
      this.#current.documentEnd = word.text;
      this.#awaiting.push(this.#current);
    }
    this.#role = "word";
  }

  #finish(isPiped = false): void {
    const { depth } = this.#current;
    if (this.#current.isPiped) {
      this.#current.depth++;
      this.#done.push(fresh(depth), this.#current, fresh(depth));
    } else this.#done.push(this.#current);
    this.#current = fresh(this.#depth, isPiped);
    this.#role = "word";
  }

  /** One word, its quotes taken off. Always moves on. */
  #word(): Word {
    let text = "";
    let isPattern = false;
    let isUnknown = false;
    for (let first = true; this.#at < this.#line.length; first = false) {
      const char = this.#line[this.#at] ?? "";
      if (!first && /[\s;&|()<>]/.test(char)) break;
      this.#at++;
      if (char === "'") text += this.#until("'");
      else if (char === '"') {
        const quoted = this.#doubleQuoted();
        text += quoted.text;
        isUnknown ||= quoted.isUnknown;
      } else if (char === "\\") text += this.#line[this.#at++] ?? "";
      else {
        if (/[*?[{]/.test(char)) isPattern = true;
        isUnknown = this.#isExpanded(char) || isUnknown;
        text += char === "`" ? "$" : char;
      }
    }
    return { text, isPattern, isUnknown };
  }

  #until(end: string): string {
    const stop = this.#line.indexOf(end, this.#at);
    const text = this.#line.slice(this.#at, stop < 0 ? undefined : stop);
    this.#at = stop < 0 ? this.#line.length : stop + 1;
    return text;
  }

  #doubleQuoted(): { readonly text: string; readonly isUnknown: boolean } {
    let text = "";
    let isUnknown = false;
    while (this.#at < this.#line.length) {
      const char = this.#line[this.#at++] ?? "";
      if (char === '"') break;
      if (char === "\\" && /["\\$`]/.test(this.#line[this.#at] ?? "")) text += this.#line[this.#at++];
      else {
        isUnknown = this.#isExpanded(char) || isUnknown;
        text += char === "`" ? "$" : char;
      }
    }
    return { text, isUnknown };
  }

  /** Whether only the shell knows what begins with this. Commands are read, and what they leave in the word is `$`. */
  #isExpanded(char: string): boolean {
    if (char === "`") this.#backquoted();
    else if (char === "$" && this.#line[this.#at] === "(") {
      const isArithmetic = this.#line[this.#at + 1] === "(";
      // mutant: hook-substitution: (isArithmetic || this.#depth >= DEEPEST) → (isArithmetic || DEEPEST > 0)
      if (isArithmetic || this.#depth >= DEEPEST) this.#skipParentheses();
      else this.#substitution();
    }
    return char === "$" || char === "`";
  }

  /** Read where it stands, because only its own words and here documents tell where it ends. */
  #substitution(): void {
    const [depth, current, role] = [this.#depth, this.#current, this.#role];
    this.#current = fresh(depth);
    do this.#step();
    while (this.#at < this.#line.length && this.#depth > depth);
    [this.#depth, this.#current, this.#role] = [depth, current, role];
  }

  /** In one that does not end nothing is read: a backquote may mean something else to another shell. */
  #backquoted(): void {
    const found = /^((?:[^`\\]|\\.)*)`/s.exec(this.#line.slice(this.#at));
    if (found === null) return;
    this.#at += found[0].length;
    const line = (found[1] ?? "").replace(/\\([\\$`])/g, "$1");
    this.#done.push(fresh(this.#depth), ...new Scanner(line, this.#depth + 1).scan());
  }

  #skipParentheses(): void {
    for (let depth = 0; this.#at < this.#line.length; ) {
      const char = this.#line[this.#at++];
      if (char === "(") depth++;
      if (char === ")" && --depth === 0) return;
    }
  }
}
