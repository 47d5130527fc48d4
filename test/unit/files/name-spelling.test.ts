import { describe, expect, it } from "vitest";
import { bytesOf, formOf, textOf } from "../../../src/files/name-spelling.js";
import { fc } from "../../fixtures/fast-check.fixture.js";

const formed = (name: string, folds: boolean): string => bytesOf(formOf(textOf(name), folds)).toString();

describe("the form of a name", () => {
  it("in a folder that folds names is one for all capitals and normalizations of every character", () => {
    const different: string[] = [];
    for (let code = 0x20; code < 0x30000; code += 1) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const name = `a${String.fromCodePoint(code)}b`;
      const spellings = [name.toUpperCase(), name.toLowerCase(), name.normalize("NFD"), name.normalize("NFC")];
      const form = formed(name, true);
      if (spellings.some((each) => formed(each, true) !== form) || formed(form, true) !== form) different.push(name);
    }
    expect(different).toEqual([]);
  });

  it.each([
    ["README.md", "readme.md"],
    ["caf\u00e9", "CAFE\u0301"],
    ["straße", "STRASSE"],
    ["STRAẞE", "strasse"],
    ["ΟΔΟΣ", "οδος"],
    ["na\u200bme", "name"],
    ["name. .", "name"],
    ["\u212a", "k"],
  ])("in a folder that folds names is the same for %s and %s", (one, other) => {
    expect(formed(one, true)).toBe(formed(other, true));
  });

  it("elsewhere keeps capitals, and is one for both normalizations", () => {
    expect(formed("README.md", false)).toBe("README.md");
    expect(formed("CAFE\u0301", false)).toBe("CAF\u00c9");
  });

  it("is never empty, and stays the same when it is formed again", () => {
    expect(formed("...", true)).toBe("...");
    const name = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(name, fc.boolean(), (each, folds) => {
        const form = formed(each, folds);
        expect(form).not.toBe("");
        expect(formed(form, folds)).toBe(form);
      }),
    );
  });

  // kills: form-bytes
  it("of bytes that are no text is these bytes", () => {
    for (const folds of [true, false]) expect(formOf("\xff\xe9A", folds)).toBe("\xff\xe9A");
  });
});
