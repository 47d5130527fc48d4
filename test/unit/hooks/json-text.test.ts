import { describe, expect, it } from "vitest";
import {
  appendAt,
  memberOf,
  parseJsonText,
  plainValue,
  removeMember,
  setAt,
} from "../../../src/agents/hooks/install/json-text.js";

function without(text: string, key: string): string {
  const root = parseJsonText(text);
  const own = root.members.find((member) => member.key === key);
  return own === undefined ? text : removeMember(text, root, own);
}

describe("the text of a JSON file", () => {
  // kills: hook-install-comments
  it.each([
    ["before it", '{\n  "a": 1, // about a\n  "own": 2\n}', '{\n  "a": 1 // about a\n}'],
    ["before it, on one line", '{ "a": 1, /* about a */ "own": 2 }', '{ "a": 1 /* about a */ }'],
    ["before the brace of its line", '{\n  "a": 1, // about a\n  "own": 2 }', '{\n  "a": 1 // about a\n  }'],
    [
      "between two others",
      '{\n  "a": 1, // one\n  "own": 2, // two\n  "b": 3\n}',
      '{\n  "a": 1, // one\n  // two\n  "b": 3\n}',
    ],
    ["behind the first", '{\n  "own": 2, // two\n  /* b */ "b": 3\n}', '{\n  // two\n  /* b */ "b": 3\n}'],
    ["around the only one", '{\n  // about own\n  "own": 2, // two\n}', "{\n  // about own\n  // two\n}"],
    ["with a comma in it", '{\n  "a": 1, // a, b\n  "own": 2 // c, d\n}', '{\n  "a": 1 // a, b\n  // c, d\n}'],
  ])("keeps a comment %s when a member goes", (_, before, after) => {
    expect(without(before, "own")).toBe(after);
    expect(plainValue(parseJsonText(after))).not.toHaveProperty("own");
  });

  it.each([
    ['{\n  "own": 2,\n}', "{}"],
    ['{ "own": 2 }', "{}"],
    ['{"a":1,"own":2}', '{"a":1}'],
    ['{"own":2, "a":1}', '{"a":1}'],
    ['{"a": 1, "own": 2, "b": 3}', '{"a": 1, "b": 3}'],
    ['{\r\n\t"a": 1,\r\n\t"own": 2,\r\n}', '{\r\n\t"a": 1,\r\n}'],
  ])("takes the blanks and the comma of a member along: %j", (before, after) => {
    expect(without(before, "own")).toBe(after);
  });

  it.each([
    '{\n  "a": 1 // about a\n}',
    '{\r\n  "a": 1 /* about a */ // and more\r\n}',
    '{\n\t"a": [1, 2,], // a list\n\t// the end\n\t"b": {} // none\n}\n',
  ])("leaves a comment on the line that it is about when a member comes, and gives the text back: %j", (text) => {
    const longer = setAt(text, ["own", "inner"], [1]);
    for (const line of text.split("\n").filter((each) => each.includes("//")))
      expect(longer.replaceAll(",", "")).toContain(line.trimEnd().replaceAll(",", ""));
    expect(plainValue(parseJsonText(longer))).toMatchObject({ own: { inner: [1] } });
    expect(without(longer, "own")).toBe(text);
  });

  it("appends behind a trailing comma and its comment", () => {
    const text = appendAt('{\n  "list": [\n    1, // one\n  ]\n}', ["list"], 2);
    expect(text).toBe('{\n  "list": [\n    1, // one\n    2\n  ]\n}');
    expect(memberOf(parseJsonText(text), "list")?.members).toHaveLength(2);
  });
});
