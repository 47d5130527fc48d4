import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ERRORS, type ErrorCode, type ErrorFacts } from "../../../src/base/errors.js";
import * as library from "../../../src/index.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const CODES = Object.keys(ERRORS) as ErrorCode[];

/** The codes of the specification with their exit codes. The type makes it an error to leave one out, or to add one. */
const EXIT_CODES: Readonly<Record<ErrorCode, number>> = {
  E_LOCK_CONFLICT: 75,
  E_LOCK_TIMEOUT: 75,
  E_LOCK_EXPIRED: 80,
  E_LOCK_NOT_HELD: 81,
  E_LOCK_ORDER: 85,
  E_FENCING_MISMATCH: 82,
  E_TOO_MANY_RETRIES: 75,
  E_CONSISTENCY_UNAVAILABLE: 83,
  E_PARTIAL_SNAPSHOT: 84,
  E_CROSS_DEVICE: 74,
  E_COMMIT_UNCERTAIN: 87,
  E_REVISION_CONFLICT: 88,
  E_CYCLE: 88,
  E_GATE_BLOCKED: 88,
  E_POLICY_UNKNOWN: 86,
  E_POLICY_AMBIGUOUS: 86,
  E_FORBIDDEN: 77,
  E_INVALID_ARGUMENT: 64,
  E_NOT_FOUND: 89,
  E_CONFIG: 78,
  E_STORE_UNAVAILABLE: 69,
  E_STORE_CORRUPT: 65,
  E_FORMAT_UNSUPPORTED: 65,
  E_IO: 74,
};

describe("the table of errors", () => {
  it("CLI-4: has exactly the codes there are, each with its exit code", () => {
    expect(Object.fromEntries(CODES.map((code) => [code, ERRORS[code].exit]))).toEqual(EXIT_CODES);
  });

  it.each(CODES)("CLI-5: %s says in full sentences what it means and what to do next", (code) => {
    const { meaning, next, retryable }: ErrorFacts = ERRORS[code];
    for (const text of [meaning, next]) expect(text).toMatch(/^[A-Z].{10,}\.$/);
    expect(retryable).toBeTypeOf("boolean");
  });

  it("LOCK-15: what another try can help with is marked so, and nothing else", () => {
    expect(CODES.filter((code) => ERRORS[code].retryable).sort()).toEqual([
      "E_CONSISTENCY_UNAVAILABLE",
      "E_LOCK_CONFLICT",
      "E_LOCK_TIMEOUT",
      "E_REVISION_CONFLICT",
      "E_STORE_UNAVAILABLE",
    ]);
  });

  it("is part of what the package exports", () => {
    expect(library.ERRORS).toBe(ERRORS);
    expect(new library.HoldfastError("E_IO", "x")).toSatisfy(library.isHoldfastError);
  });
});

describe("the source", () => {
  /** A call with the code as its first argument, as every throw has it. */
  const thrown = new Set([...sourceText().matchAll(/\b\w+\(\s*"(E_[A-Z_]+)"/g)].map(([, code]) => code as ErrorCode));

  it("throws only what the table has", () => {
    expect([...thrown].filter((code) => !CODES.includes(code))).toEqual([]);
  });

  it.each(CODES)("throws %s somewhere", (code) => {
    expect(thrown).toContain(code);
  });
});

/** Returns the text of src without its comments. */
function sourceText(): string {
  return readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(root, "src", name), "utf8"))
    .join("\n")
    .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
}
