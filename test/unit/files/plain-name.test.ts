import { describe, expect, it } from "vitest";
import { nameOfPlain, plainName } from "../../../src/files/plain-name.js";
import { fc } from "../../fixtures/fast-check.fixture.js";

describe("a name of a file for any name", () => {
  // kills: plain-reserved
  it.each([
    ["issue-1", "issue-1"],
    ["Foo", "%46oo"],
    ["a/b c", "a%2fb%20c"],
    ["caf\u00e9", "caf%c3%a9"],
    ["x.", "x%2e"],
    ["con", "%63on"],
    ["nul.txt", "%6eul.txt"],
    ["console", "console"],
  ])("of %s is %s", (name, plain) => {
    expect(plainName(name)).toBe(plain);
  });

  it("differs for two names also where case is ignored, is no reserved one, and leads back", () => {
    const names = fc.string({ unit: fc.constantFrom(..."aAbB.%conNUL1é"), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(names, names, (one, other) => {
        expect(nameOfPlain(plainName(one))).toBe(one);
        expect(plainName(one)).not.toMatch(/^(con|nul)(\.|$)|\.$/i);
        expect(plainName(one).toLowerCase() === plainName(other).toLowerCase()).toBe(one === other);
      }),
    );
  });
});
