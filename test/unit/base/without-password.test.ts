import { describe, expect, it } from "vitest";
import { withoutPassword } from "../../../src/base/without-password.js";

describe("a URL without its password", () => {
  it.each([
    ["postgres://ann:secret@db/app", "postgres://ann@db/app"],
    ["postgres://ann:secret@db:5432/app?sslmode=require", "postgres://ann@db:5432/app?sslmode=require"],
    ["postgresql://ann@db/app?password=secret&host=/run", "postgresql://ann@db/app?password=…&host=/run"],
    ["postgres://db/app?user=ann&sslpassword=secret", "postgres://db/app?user=ann&sslpassword=…"],
    ["postgres://ann:secret@/app", "postgres://ann@/app"],
    ["postgres://ann:@db/app", "postgres://ann@db/app"],
    // Not escaped as they should be.
    ["postgres://ann:sec@ret@db/app", "postgres://ann@db/app"],
    ["postgres://ann:sec:ret@db/app", "postgres://ann@db/app"],
    ["postgres://ann:sec/ret@db/app", "postgres://ann@db/app"],
    ["postgres://ann:12/secret@db/app", "postgres://ann@db/app"],
    ["postgres://ann:se?cret@db/app", "postgres://ann@db/app"],
    ["postgres://ann:se#cret@db/app", "postgres://ann@db/app"],
    ["mysql://ann:secret@db/app", "mysql://ann@db/app"],
  ])("%s", (url, shown) => {
    expect(withoutPassword(url)).toBe(shown);
  });

  it.each([
    "sqlite:/a/b:c@d.db",
    "file:/a",
    "memory:x",
    "postgres://ann@db:5432/app",
    "postgres://db:5432/app?application_name=a@b",
    "postgres:///app?host=/run",
    "plain text",
    "",
  ])("has nothing to hide in %j", (text) => {
    expect(withoutPassword(text)).toBe(text);
  });
});
