/**
 * Edits JSON files of people as text: it adds and removes members, and every other byte stays where it is, including
 * comments, order and indentation. Comments and trailing commas are accepted, as most agent tools accept them.
 *
 * `jsonc-parser` does not replace this module: its `modify` formats the lines that it touches anew, drops comments beside
 * a removed member, and makes `{ , }` of an only member with a trailing comma.
 */
import { HoldfastError } from "../../../base/errors.js";

export interface JsonNode {
  readonly kind: "object" | "array" | "other";
  readonly start: number;
  readonly end: number;
  readonly members: readonly JsonMember[];
  /** Of what is neither object nor array. */
  readonly value?: unknown;
}

export interface JsonMember {
  /** Null in an array. */
  readonly key: string | null;
  readonly start: number;
  readonly node: JsonNode;
}

/** `E_CONFIG` saying where it is no JSON. */
export function parseJsonText(text: string): JsonNode {
  const reader = new Reader(text);
  const node = reader.value();
  reader.end();
  return node;
}

export function memberOf(node: JsonNode | undefined, key: string): JsonNode | undefined {
  return node?.members.find((member) => member.key === key)?.node;
}

/** The value as a program sees it. */
export function plainValue(node: JsonNode): unknown {
  if (node.kind === "other") return node.value;
  if (node.kind === "array") return node.members.map((member) => plainValue(member.node));
  return Object.fromEntries(node.members.map((member) => [member.key, plainValue(member.node)]));
}

/** Puts a value at the end of the array at this path, making what is missing on the way. */
export function appendAt(text: string, path: readonly string[], value: unknown): string {
  return putAt(text, path, null, value);
}

/** Sets a member that is not there yet, making what is missing on the way. */
export function setAt(text: string, path: readonly string[], value: unknown): string {
  return putAt(text, path.slice(0, -1), path.at(-1) ?? "", value);
}

function putAt(text: string, path: readonly string[], key: string | null, value: unknown): string {
  let node = parseJsonText(text);
  for (const [at, name] of path.entries()) {
    const next = memberOf(node, name);
    if (node.kind !== "object") throw wrongKind(path.slice(0, at), "an object");
    if (next === undefined) return insert(text, node, at + 1, name, wrapped(path.slice(at + 1), key, value));
    node = next;
  }
  if (node.kind !== (key === null ? "array" : "object")) throw wrongKind(path, key === null ? "a list" : "an object");
  return insert(text, node, path.length + 1, key, value);
}

function wrapped(path: readonly string[], key: string | null, value: unknown): unknown {
  const innermost = key === null ? [value] : { [key]: value };
  return path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), innermost);
}

function insert(text: string, container: JsonNode, depth: number, key: string | null, value: unknown): string {
  const [unit, line] = [indentOf(text), text.includes("\r\n") ? "\r\n" : "\n"];
  const body = JSON.stringify(value, null, unit).replaceAll("\n", line + unit.repeat(depth));
  const entry = `${line}${unit.repeat(depth)}${key === null ? "" : `${JSON.stringify(key)}: `}${body}`;
  const last = container.members.at(-1);
  if (last !== undefined) {
    const behind = text.slice(last.node.end, container.end - 1);
    const comma = /^\s*,/.exec(behind)?.[0] ?? "";
    const comments = SAME_LINE.exec(behind.slice(comma.length))?.[0] ?? "";
    const at = last.node.end + comma.length + comments.length;
    return `${text.slice(0, last.node.end)}${comma || ","}${comments}${entry}${text.slice(at)}`;
  }
  const inside = text.slice(container.start + 1, container.end - 1);
  const kept = inside.trim() === "" ? "" : inside;
  return `${text.slice(0, container.start + 1)}${kept}${entry}${line}${unit.repeat(depth - 1)}${text.slice(container.end - 1)}`;
}

/**
 * Removes a member, its comma and the blanks beside it; comments stay. The members of `container` must be those of
 * `text`.
 */
export function removeMember(text: string, container: JsonNode, member: JsonMember): string {
  const at = container.members.indexOf(member);
  const start = container.members[at - 1]?.node.end ?? container.start + 1;
  const end = container.members[at + 1]?.start ?? container.end - 1;
  const left = joined(text.slice(start, member.start), text.slice(member.node.end, end));
  const isEmpty = container.members.length === 1 && left.trim() === "";
  return text.slice(0, start) + (isEmpty ? "" : left) + text.slice(end);
}

/** Returns what stays of the text before and behind a removed member: all but one comma, and blanks. */
function joined(before: string, behind: string): string {
  const tail = behind.replace(COMMA, "$1");
  const isLast = tail === behind;
  const head = isLast ? before.replace(COMMA, "$1") : before;
  if (/^[ \t]*\r?\n/.test(tail)) return head.trimEnd() + tail;
  // mutant: hook-install-comments: isLast && head.trim() === "" → isLast
  return isLast && head.trim() === "" ? tail : head + tail.trimStart();
}

function indentOf(text: string): string {
  return /\n([ \t]+)["\]}]/.exec(text)?.[1] ?? "  ";
}

function wrongKind(path: readonly string[], wanted: string): HoldfastError {
  return new HoldfastError("E_CONFIG", `${path.join(".") || "the file"} is to be ${wanted}`, {
    reason: "invalid_file",
    next: ["Mend the file by hand, then try again."],
  });
}

const BLANK = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/|\uFEFF)*/y;
/** The first comma outside comments. */
const COMMA = /^((?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*),/;
/** The comments that follow on the same line. */
const SAME_LINE = /^(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/))*/;
const SCALAR = /"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): JsonNode {
    this.#skip();
    const sign = this.#text[this.#at];
    if (sign === "{" || sign === "[") return this.#container(sign);
    const start = this.#at;
    const value = this.#scalar();
    return { kind: "other", start, end: this.#at, members: [], value };
  }

  end(): void {
    this.#skip();
    if (this.#at < this.#text.length) throw this.#wrong();
  }

  #container(sign: "{" | "["): JsonNode {
    const start = this.#at++;
    const close = sign === "{" ? "}" : "]";
    const members: JsonMember[] = [];
    for (;;) {
      this.#skip();
      if (this.#text[this.#at] === close) break;
      const from = this.#at;
      const key = sign === "{" ? this.#key() : null;
      members.push({ key, start: from, node: this.value() });
      this.#skip();
      if (this.#text[this.#at] === ",") this.#at++;
      else if (this.#text[this.#at] !== close) throw this.#wrong();
    }
    this.#at++;
    return { kind: sign === "{" ? "object" : "array", start, end: this.#at, members };
  }

  #key(): string {
    const key = this.#scalar();
    this.#skip();
    if (typeof key !== "string" || this.#text[this.#at] !== ":") throw this.#wrong();
    this.#at++;
    return key;
  }

  #scalar(): unknown {
    SCALAR.lastIndex = this.#at;
    const found = SCALAR.exec(this.#text)?.[0];
    if (found === undefined) throw this.#wrong();
    try {
      const value = JSON.parse(found) as unknown;
      this.#at += found.length;
      return value;
    } catch {
      throw this.#wrong(); // A text with an escape that JSON does not know, such as "C:\projects".
    }
  }

  #skip(): void {
    BLANK.lastIndex = this.#at;
    this.#at += BLANK.exec(this.#text)?.[0].length ?? 0;
  }

  #wrong(): HoldfastError {
    const line = this.#text.slice(0, this.#at).split("\n").length;
    return new HoldfastError("E_CONFIG", `is no JSON (line ${line})`, {
      reason: "invalid_file",
      next: ["Mend the file by hand, then try again."],
    });
  }
}
