/** The reasons of E_CONFIG and E_STORE_UNAVAILABLE: the types close the list, and the source uses all of it. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ERRORS, HoldfastError, isHoldfastError } from "../../../src/base/errors.js";
import { page, ROOT } from "../../fixtures/pages.fixture.js";

type Code = "E_CONFIG" | "E_STORE_UNAVAILABLE";

const FILES = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(ts|tsx|sql)$/.test(name) && !name.endsWith(join("base", "errors.ts")))
  .map((name) => join("src", name));
const SOURCE = FILES.map((name) => ({ name, text: page(name) }));

/** Where an error of this code is made, each with what follows up to the end of the statement. */
function throwsOf(code: Code): readonly { readonly at: string; readonly text: string }[] {
  const start = new RegExp(
    `(?:new HoldfastError\\(|HoldfastError\\.again\\(|holdfast\\.fail\\()[^;]{0,20}["']${code}["']`,
    "g",
  );
  return SOURCE.flatMap(({ name, text }) =>
    [...text.matchAll(start)].map(({ index }) => ({
      at: `${name}:${text.slice(0, index).split("\n").length}`,
      text: text.slice(index, text.indexOf(";\n", index)),
    })),
  );
}

/** Reasons that a throw names, and those that are chosen in a file which says that it chooses one. */
function reasonsUsed(code: Code): readonly string[] {
  const named = throwsOf(code).flatMap(({ text }) => reasonsIn(text));
  const choosing = SOURCE.filter(({ text }) => text.includes(`ErrorReason<"${code}">`));
  const known = Object.keys(ERRORS[code].reasons);
  return [...named, ...choosing.flatMap(({ text }) => known.filter((reason) => text.includes(`"${reason}"`)))];
}

function reasonsIn(text: string): readonly string[] {
  return [...text.matchAll(/\breason['"]?[:,]\s*['"](\w+)['"]/g)].map(([, reason = ""]) => reason);
}

describe.each(["E_CONFIG", "E_STORE_UNAVAILABLE"] as const)("the reasons of %s", (code) => {
  it("are given by each place that throws it", () => {
    const places = throwsOf(code);
    expect(places.length).toBeGreaterThan(25);
    expect(places.filter(({ text }) => !/\breason\b/.test(text)).map(({ at }) => at)).toEqual([]);
  });

  it("are all in the table, and each is used", () => {
    expect([...new Set(reasonsUsed(code))].sort()).toEqual(Object.keys(ERRORS[code].reasons).sort());
  });
});

describe("a code with reasons", () => {
  it("does not compile without one of its own", () => {
    // @ts-expect-error
    expect(new HoldfastError("E_CONFIG", "wrong").code).toBe("E_CONFIG");
    // @ts-expect-error
    expect(new HoldfastError("E_CONFIG", "wrong", { details: { field: "root" } }).code).toBe("E_CONFIG");
    // @ts-expect-error
    expect(new HoldfastError("E_CONFIG", "wrong", { reason: "busy" }).code).toBe("E_CONFIG");
    // @ts-expect-error
    expect(new HoldfastError("E_STORE_UNAVAILABLE", "away", { reason: "no_workspace" }).retryable).toBe(true);
    // @ts-expect-error
    expect(new HoldfastError("E_IO", "torn", { reason: "busy" }).retryable).toBe(false);
  });

  it("has it in its details, and in what is made of it again", () => {
    const cause: unknown = new HoldfastError("E_CONFIG", "wrong", {
      reason: "no_workspace",
      details: { field: "root" },
    });
    if (!isHoldfastError(cause, "E_CONFIG")) throw cause;
    const reason: keyof typeof ERRORS.E_CONFIG.reasons = cause.details.reason;
    expect(reason).toBe("no_workspace");
    expect(cause.details).toEqual({ reason: "no_workspace", field: "root" });
    expect(HoldfastError.again(cause).toJSON()).toEqual(cause.toJSON());
  });
});
