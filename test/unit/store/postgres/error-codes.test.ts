import { describe, expect, it } from "vitest";
import {
  isLostConnection,
  toCallersError,
  toHoldfastError,
} from "../../../../src/store/postgres/connection/error-codes.js";

describe("STORE-6: what the system says of a connection", () => {
  // kills: postgres-epipe (EPIPE)
  it.each(["EPIPE", "ECONNRESET", "ETIMEDOUT"])("is a lost connection, not an answer of the server: %s", (code) => {
    const error = Object.assign(new Error(`write ${code}`), { code });
    expect(isLostConnection(error)).toBe(true);
    expect(toHoldfastError(error, "db")).toMatchObject({ code: "E_STORE_UNAVAILABLE" });
    expect(toCallersError(error, "db")).toMatchObject({ code: "E_STORE_UNAVAILABLE" });
  });

  it.each(["23505", "P0001", "22012"])("is told from what the server says of a statement: %s", (code) => {
    const error = Object.assign(new Error("no"), { code });
    expect(isLostConnection(error)).toBe(false);
    expect(toCallersError(error, "db")).toBe(error);
  });
});
