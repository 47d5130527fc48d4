import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseKey } from "../../../src/lock/key.js";
import {
  DELIVERABLE,
  JOBS_TREE,
  LENT_TREE,
  RESERVED_KINDS,
  RUNTIME,
  WORKTREE,
} from "../../../src/lock/reserved-kinds.js";
import { DEFAULT_SETTINGS, profileOf } from "../../../src/lock/settings.js";
import { page, ROOT } from "../../fixtures/pages.fixture.js";

interface Source {
  spansOf(text: string, sql?: boolean): readonly { kind: string; start: number; end: number }[];
}

const { spansOf }: Source = await import(new URL("../../../scripts/house/source.mjs", import.meta.url).href);
const PREFIXES = Object.keys(RESERVED_KINDS);

/** Returns the files below a folder of src with these endings, each with its strings and templates, quotes left out. */
function stringsBelow(folder: string, ending: RegExp): { path: string; text: string; strings: string[] }[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name))
    .map((name) => {
      const text = readFileSync(join(ROOT, folder, name), "utf8");
      const spans = spansOf(text, name.endsWith(".sql")).filter(({ kind }) => kind === "string" || kind === "template");
      return {
        path: name.replaceAll("\\", "/"),
        text,
        strings: spans.map(({ start, end }) => text.slice(start + 1, end)),
      };
    });
}

describe("the table of reserved kinds", () => {
  it("has keys that begin with their prefix, and sentences", () => {
    for (const [prefix, { key, purpose }] of Object.entries(RESERVED_KINDS)) {
      expect(parseKey(key).startsWith(prefix)).toBe(true);
      expect(purpose).toMatch(/^[A-Z][^\n|]*\.$/);
    }
  });

  it("has the profile that a key of each kind has in the default settings", () => {
    for (const { key, profile } of Object.values(RESERVED_KINDS)) {
      expect(`${key} ${profileOf(key, DEFAULT_SETTINGS)}`).toBe(`${key} ${profile}`);
    }
  });

  it("is the table in docs/library.md", () => {
    const rows = Object.values(RESERVED_KINDS).map(({ key, owner, profile, purpose }) =>
      ["", `\`${key}\``, owner, `\`${profile}\``, purpose, ""].join("|"),
    );
    const [, section = ""] = page("docs/library.md").split("### Reserved kinds\n");
    const table =
      section
        .split("\n## ", 1)[0]
        ?.split("\n")
        .filter((line) => line.startsWith("|")) ?? [];
    expect(table.slice(2).map((line) => line.replace(/\s*\|\s*/g, "|"))).toEqual(rows);
  });

  it("is where code takes its prefixes from", () => {
    const kinds = PREFIXES.filter((prefix) => prefix.endsWith(":") || prefix === LENT_TREE);
    const built = stringsBelow("src", /\.tsx?$/).flatMap(({ path, text, strings }) => {
      if (path === "lock/reserved-kinds.ts") return [];
      const own = strings.filter((each) => kinds.some((prefix) => each.startsWith(prefix)));
      const parsed = PREFIXES.filter((prefix) => new RegExp(`parseKey\\(["'\`]${prefix}["'\`/]`).test(text));
      return [...own, ...parsed].map((each) => `${path}: ${each}`);
    });
    expect(built).toEqual([]);
  });
});

describe("the SQL of PostgreSQL", () => {
  const files = stringsBelow("src/store/postgres/sql", /\.sql$/);

  it("builds keys of the kinds in the table alone", () => {
    const found = files.flatMap(({ strings }) =>
      strings.map((each) => /^\{?([a-z]+(?:[:/](?='$)|(?=\}'$)))/.exec(each)?.[1]),
    );
    // `kind:` is a label that a worker has, `service:` and `job:` begin owners; the others are marks of a lock.
    const others = ["kind:", "service:", "job:", "read", "write"];
    const kinds = new Set(found.filter((each) => each !== undefined && !others.includes(each)));
    expect(kinds).toEqual(new Set([JOBS_TREE, `${JOBS_TREE}/`, RUNTIME, DELIVERABLE]));
  });

  it("cuts the id of a deliverable off behind its prefix", () => {
    const contention = files.find(({ path }) => path.endsWith("23-contention.sql"))?.text ?? "";
    expect(contention).toContain(`starts_with(resource, '${DELIVERABLE}')`);
    expect(contention).toContain(`'deliverable_id', substr(resource, ${DELIVERABLE.length + 1})`);
  });

  it("records the default settings in a store that is opened first", () => {
    const open = files.find(({ path }) => path.endsWith("70-open.sql"))?.text ?? "";
    const { levels, profiles } = DEFAULT_SETTINGS;
    expect(Object.keys(profiles)).toContain(WORKTREE);
    expect(open).toContain(`coalesce(levels, '{${levels}}')`);
    expect(open).toContain(`coalesce(profile_prefixes, '{${Object.keys(profiles)}}')`);
    expect(open).toContain(`coalesce(profile_names, '{${Object.values(profiles)}}')`);
  });
});
