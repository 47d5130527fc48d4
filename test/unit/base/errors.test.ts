import { describe, expect, it } from "vitest";
import { ERRORS, HoldfastError, invalidArgument, ioError, isHoldfastError } from "../../../src/base/errors.js";

describe("HoldfastError", () => {
  it("takes what its code means from the table", () => {
    const error = new HoldfastError("E_LOCK_CONFLICT", "taken");
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: "HoldfastError",
      code: "E_LOCK_CONFLICT",
      message: "taken",
      retryable: true,
      details: {},
      next: [ERRORS.E_LOCK_CONFLICT.next],
    });
    expect(error.cause).toBe(undefined);
    expect("cause" in error).toBe(false);
  });

  it("keeps what it is given instead", () => {
    const cause = new Error("why");
    const error = new HoldfastError("E_IO", "no", { cause, details: { path: "/x" }, next: ["Do this."] });
    expect(error).toMatchObject({ cause, details: { path: "/x" }, next: ["Do this."], retryable: false });
  });

  it("CLI-2: as JSON it is code, message, retryable, details and next", () => {
    const error = new HoldfastError("E_NOT_FOUND", "gone", { cause: new Error("secret"), details: { key: "k" } });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: "E_NOT_FOUND",
      message: "gone",
      retryable: false,
      details: { key: "k" },
      next: [ERRORS.E_NOT_FOUND.next],
    });
  });

  it("is told from others, and by code", () => {
    const error = invalidArgument("ttl", "too long", "Write 30s.");
    expect(isHoldfastError(error)).toBe(true);
    expect(isHoldfastError(error, "E_INVALID_ARGUMENT")).toBe(true);
    expect(isHoldfastError(error, "E_IO")).toBe(false);
    for (const other of [new Error("E_IO"), { code: "E_IO" }, null, undefined, "E_IO"])
      expect(isHoldfastError(other)).toBe(false);
    expect(error).toMatchObject({ message: "ttl: too long", details: { field: "ttl" }, next: ["Write 30s."] });
  });
});

describe("errors of the system", () => {
  const failed = (code: string): Error => Object.assign(new Error(code), { code });

  it("become E_IO that names what was done, where and why", () => {
    const cause = failed("EMFILE");
    expect(ioError(cause, "open", "/a/b")).toMatchObject({
      code: "E_IO",
      message: "cannot open /a/b: EMFILE",
      details: { path: "/a/b", errno: "EMFILE" },
      cause,
      next: [ERRORS.E_IO.next],
    });
    expect(ioError("what", "open", "/a").message).toBe("cannot open /a: unknown");
  });

  it.each([
    ["EACCES", /permissions of \/a/],
    ["EPERM", /permissions/],
    ["EROFS", /permissions/],
    ["ENOSPC", /space/],
    ["EDQUOT", /space/],
  ])("%s says what to do", (code, next) => {
    expect(ioError(failed(code), "write", "/a").next[0]).toMatch(next);
  });

  it("that are coded already pass through", () => {
    const coded = new HoldfastError("E_STORE_CORRUPT", "torn");
    expect(ioError(coded, "read", "/a")).toBe(coded);
  });
});
