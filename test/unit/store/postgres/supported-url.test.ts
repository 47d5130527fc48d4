import { describe, expect, it } from "vitest";
import { toHoldfastError } from "../../../../src/store/postgres/connection/error-codes.js";
import { assertSupportedUrl } from "../../../../src/store/postgres/connection/supported-url.js";

describe("the URL of a store on a server", () => {
  // kills: postgres-several-hosts
  it.each([
    ["postgres://u:secret@h1:5432,h2:5432/db?target_session_attrs=read-write", "several hosts"],
    ["postgres://h1,h2:5432/db", "several hosts"],
    ["postgres://u@/db?host=h1,h2", "several hosts"],
    ["postgres://u:secret@h/db?target_session_attrs=read-write", "target_session_attrs is not supported"],
    ["postgres://u@h/db?service=app", "service is not supported"],
    ["postgres://u@h/db?sslmode=prefer", "sslmode=prefer is not supported"],
    ["postgres://u@h/db?connect_timeout=3&sslmode=bogus", "sslmode=bogus is not supported"],
    ["postgres://u:secret@h:port/db", "cannot be read"],
  ])("%s is refused, and what is not supported is named: %s", (url, why) => {
    const refused = thrownBy(() => assertSupportedUrl(url));
    expect(refused).toMatchObject({ code: "E_CONFIG", message: expect.stringContaining(why) });
    expect(JSON.stringify([(refused as Error).message, refused])).not.toContain("secret");
  });

  it.each([
    "postgres://u:p@h/db",
    "postgresql://u:a%2Cb@h:5432/db?sslmode=verify-full&sslrootcert=/ca.pem",
    "postgres://u@%2Frun%2Fpostgresql/db",
    "postgres://postgres@/postgres?host=/run/postgresql&query_timeout=60000&connect_timeout=60",
    "postgres:///db?host=/run/postgresql",
    "postgres://u:a,b@h/db",
    "postgres://u@[::1]:5432/db?sslmode=require&uselibpqcompat=true",
    "postgres://u@h/db?options=-c%20search_path%3Da%2Cb",
  ])("%s is passed on to the driver", (url) => {
    expect(() => assertSupportedUrl(url)).not.toThrow();
  });
});

describe("an account that the server does not let in", () => {
  it.each([
    Object.assign(new Error("password authentication failed for user u"), { code: "28P01" }),
    new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"),
  ])("hears where the password is looked for: %s", (error) => {
    expect(toHoldfastError(error, "postgres://h")).toMatchObject({
      code: "E_CONFIG",
      details: { reason: "access_denied" },
      next: [expect.stringContaining("PGPASSWORD")],
    });
  });
});

function thrownBy(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
}
