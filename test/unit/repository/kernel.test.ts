import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../fixtures/pages.fixture.js";

const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((path) =>
  /\.tsx?$/.test(path),
);
/** The client's own folder is where the kernel stands: its files know what a Holdfast instance is made of. */
const CLIENT = SOURCES.filter((path) => basename(path) === "kernel.ts").map((path) => dirname(path));
/** What a Holdfast instance or a lease is made of, however a file reaches for it. */
const INSIDE = /\/lease-context\.js"|holdfast\.home\b|\.seat\b|\bcreateKernel\b/;

it("files outside the client reach into a Holdfast instance by its kernel alone", () => {
  expect(CLIENT).toHaveLength(1);
  const outside = SOURCES.filter((path) => !CLIENT.some((folder) => path.startsWith(`${folder}/`)));
  const reaching = outside.filter((path) => INSIDE.test(readFileSync(join(ROOT, "src", path), "utf8")));
  expect(reaching).toEqual([]);
  expect(outside.length).toBeGreaterThan(500);
});
