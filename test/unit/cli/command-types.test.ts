/** The types that a command gets from its own description. Each `@ts-expect-error` is checked by the compiler. */
import { describe, expect, expectTypeOf, it } from "vitest";
import { command, type FlagSpec } from "../../../src/apps/cli/command.js";
import { parse } from "../../../src/apps/cli/input/parse.js";
import { argumentsFor, flagsFor } from "../../../src/apps/cli/input/values.js";
import { given } from "../../../src/base/given.js";

const TTL = { type: "duration", help: "how long" } as const satisfies FlagSpec;

const sample = command({
  name: "sample",
  group: "locks",
  summary: "a command of every kind of flag and argument",
  args: {
    KEY: { help: "one word" },
    SHELL: { help: "one of two", choices: ["bash", "fish"] },
    WHAT: { help: "perhaps a word", optional: true },
  },
  flags: {
    ttl: TTL,
    fence: { type: "integer", required: true, help: "a number" },
    limit: { type: "integer", help: "a number" },
    mode: { type: "text", choices: ["read", "write"], help: "a choice" },
    state: { type: "text", choices: ["done", "ready"], repeat: true, help: "choices" },
    label: { type: "text", repeat: true, help: "words" },
    meta: { type: "pairs", help: "pairs" },
    since: { type: "time", help: "a time" },
    "dry-run": { type: "boolean", help: "a switch" },
  },
  rest: { name: "CMD", help: "a command" },
  async run({ args, flags, rest }) {
    expectTypeOf(args).toEqualTypeOf<{
      readonly KEY: string;
      readonly SHELL: "bash" | "fish";
      readonly WHAT: string | undefined;
    }>();
    expectTypeOf(flags.ttl).toEqualTypeOf<string | undefined>();
    expectTypeOf(flags.fence).toEqualTypeOf<number>();
    expectTypeOf(flags.limit).toEqualTypeOf<number | undefined>();
    expectTypeOf(flags.mode).toEqualTypeOf<"read" | "write" | undefined>();
    expectTypeOf(flags.state).toEqualTypeOf<readonly ("done" | "ready")[]>();
    expectTypeOf(flags.label).toEqualTypeOf<readonly string[]>();
    expectTypeOf(flags.meta).toEqualTypeOf<Readonly<Record<string, string>> | undefined>();
    expectTypeOf(flags.since).toEqualTypeOf<string | undefined>();
    expectTypeOf(flags["dry-run"]).toEqualTypeOf<boolean>();
    expectTypeOf(flags.root).toEqualTypeOf<string | undefined>();
    expectTypeOf(flags.json).toEqualTypeOf<boolean>();
    expectTypeOf(rest).toEqualTypeOf<readonly string[]>();
    // @ts-expect-error a misspelled flag
    void flags.tll;
    // @ts-expect-error a misspelled argument
    void args.KEYS;
    return { data: { args, flags, rest } };
  },
});

const bare = command({
  name: "bare",
  group: "locks",
  summary: "a command without arguments and flags",
  async run(context) {
    expectTypeOf(context.flags.owner).toEqualTypeOf<string | undefined>();
    // @ts-expect-error a command that takes no flags has none but the global ones
    void context.flags.ttl;
    // @ts-expect-error a command that takes no arguments has none
    void context.args.KEY;
    // @ts-expect-error a command that takes nothing behind -- has no rest
    void context.rest;
    return {};
  },
});

command({
  name: "many",
  group: "locks",
  summary: "a command of many words",
  args: { KEY: { help: "words", many: true } },
  async run({ args }) {
    expectTypeOf(args.KEY).toEqualTypeOf<readonly string[]>();
    return {};
  },
});

command({
  name: "odd",
  // @ts-expect-error a group that the help does not know
  group: "other",
  summary: "a command of an unknown group",
  run: async () => ({}),
});

describe("the values of a command", () => {
  const values = (...words: string[]) => {
    const { args, flags } = parse(words, [sample, bare]);
    return { args: argumentsFor(sample.args, args), flags: flagsFor(sample.flags, flags) };
  };

  it("are those of its words, as its types say", () => {
    const typed = values(
      ..."sample --ttl 5m --fence 3 --mode read --state done --state ready --meta a=1 --dry-run k fish w -- c".split(
        " ",
      ),
    );
    expect(typed.args).toEqual({ KEY: "k", SHELL: "fish", WHAT: "w" });
    expect(typed.flags).toMatchObject({ ttl: "5m", fence: 3, mode: "read", meta: { a: "1" }, "dry-run": true });
    expect(typed.flags).toMatchObject({ state: ["done", "ready"], label: [], json: false });
  });

  it("are false, an empty list or undefined where nothing was typed", () => {
    const { args, flags } = values(..."sample --fence 3 k bash -- c".split(" "));
    expect(args).toEqual({ KEY: "k", SHELL: "bash", WHAT: undefined });
    expect(flags).toMatchObject({ "dry-run": false, json: false, quiet: false, label: [], state: [] });
    expect([flags.ttl, flags.limit, flags.mode, flags.meta, flags.root]).toEqual(Array(5).fill(undefined));
  });

  it("become options without those that are undefined", () => {
    const options = given({ ttl: undefined as string | undefined, wait: "5s", note: null });
    expectTypeOf(options.ttl).toEqualTypeOf<string | undefined>();
    expect(options).toEqual({ wait: "5s", note: null });
    expect(Object.keys(options)).toEqual(["wait", "note"]);
    // @ts-expect-error an optional field that is there is not undefined
    const odd: typeof options = { wait: "5s", note: null, ttl: undefined };
    void odd;
  });
});
