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

describe("the reason of E_STORE_UNAVAILABLE on PostgreSQL", () => {
  it.each([
    ["ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:5432", "unreachable"],
    ["57P01", "terminating connection due to administrator command", "unreachable"],
    ["08006", "connection failure", "unreachable"],
    ["ETIMEDOUT", "", "timeout"],
    [undefined, "Query read timeout", "timeout"],
    ["57014", "canceling statement due to statement timeout", "timeout"],
    ["40P01", "deadlock detected", "busy"],
    ["55P03", "canceling statement due to lock timeout", "busy"],
    ["53300", "sorry, too many clients already", "full"],
    ["53100", "could not extend file: no space left on device", "full"],
    ["25006", "cannot execute UPDATE in a read-only transaction", "read_only"],
    ["0A000", "cannot use serializable mode in a hot standby during recovery", "read_only"],
    ["3D000", "database does not exist", "no_store"],
    ["42P01", "relation does not exist", "no_store"],
    ["XX000", "internal error", "server_error"],
  ])("of %s (%s) is %s", (code, message, reason) => {
    const error = toHoldfastError(Object.assign(new Error(message), { code }), "db");
    expect(error).toMatchObject({ code: "E_STORE_UNAVAILABLE", details: { reason } });
  });

  it("comes with a refusal of the store's own functions, in its details", () => {
    const error = Object.assign(new Error("E_STORE_UNAVAILABLE: another store"), {
      code: "HF010",
      detail: '{"reason": "no_store"}',
    });
    expect(toHoldfastError(error, "db")).toMatchObject({ message: "another store", details: { reason: "no_store" } });
  });
});
