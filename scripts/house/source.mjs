/**
 * Splits TypeScript, JavaScript or SQL text into code, comments, strings, templates and regular expressions, without a
 * compiler: enough to count lines and to read imports. It does not know JSX text; there a quote ends with its line.
 */

/** Returns the spans of the text in order, each `{ kind, start, end }`. The spans cover the whole text. */
export function spansOf(text, sql = false) {
  return sql ? sqlSpans(text) : scriptSpans(text);
}

/** Returns the text with every span of the given kinds blanked. Line breaks stay, so line numbers stay. */
export function without(text, kinds, sql = false) {
  return spansOf(text, sql)
    .map(({ kind, start, end }) => {
      const part = text.slice(start, end);
      return kinds.includes(kind) ? part.replace(/[^\n]/g, " ") : part;
    })
    .join("");
}

const REGEX_BEFORE = /(?:^|[=(,:;!&|?{}[+\-*%~^<>]|\b(?:return|typeof|case|in|of|void|throw|await|yield|default))\s*$/;

function scriptSpans(text) {
  const spans = [];
  // The depth of braces at which each open `${` ends.
  const open = [];
  let depth = 0;
  let codeStart = 0;
  let at = 0;
  const add = (kind, end) => {
    if (at > codeStart) spans.push({ kind: "code", start: codeStart, end: at });
    spans.push({ kind, start: at, end });
    at = end;
    codeStart = end;
  };
  if (text.startsWith("#!")) add("comment", lineEnd(text, 0));
  while (at < text.length) {
    const char = text[at];
    const next = text[at + 1];
    if (char === "/" && next === "/") add("comment", lineEnd(text, at));
    else if (char === "/" && next === "*") add("comment", endOf(text, "*/", at + 2));
    else if (char === '"' || char === "'") add("string", quoteEnd(text, at));
    else if (char === "/" && next !== ">" && REGEX_BEFORE.test(text.slice(Math.max(codeStart, at - 40), at)))
      add("regex", regexEnd(text, at));
    else if (char === "`") template(at + 1);
    else if (char === "}" && open.at(-1) === depth) {
      open.pop();
      template(at + 1);
    } else {
      if (char === "{") depth += 1;
      if (char === "}") depth -= 1;
      at += 1;
    }
  }
  if (at > codeStart) spans.push({ kind: "code", start: codeStart, end: at });
  return spans;

  function template(from) {
    let end = from;
    while (end < text.length && text[end] !== "`" && !(text[end] === "$" && text[end + 1] === "{"))
      end += text[end] === "\\" ? 2 : 1;
    if (text[end] === "$") {
      open.push(depth);
      add("template", end + 2);
    } else add("template", Math.min(end + 1, text.length));
  }
}

function sqlSpans(text) {
  const spans = [];
  const pattern = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g;
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > from) spans.push({ kind: "code", start: from, end: match.index });
    from = match.index + match[0].length;
    spans.push({ kind: match[0].startsWith("'") ? "string" : "comment", start: match.index, end: from });
  }
  if (from < text.length) spans.push({ kind: "code", start: from, end: text.length });
  return spans;
}

function lineEnd(text, from) {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function endOf(text, mark, from) {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end + mark.length;
}

function quoteEnd(text, from) {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "\n") return at;
    else if (text[at] === text[from]) return at + 1;
  }
  return text.length;
}

function regexEnd(text, from) {
  let inClass = false;
  for (let at = from + 1; at < text.length && text[at] !== "\n"; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "[") inClass = true;
    else if (text[at] === "]") inClass = false;
    else if (text[at] === "/" && !inClass) return at + 1;
  }
  return from + 1;
}
