/** What the words of a command line mean. */
import { describe, expect, it } from "vitest";
import { parse } from "../../../src/apps/cli/input/parse.js";
import { TABLE } from "../../../src/apps/cli/table.js";
import { HoldfastError } from "../../../src/index.js";

function refusal(...words: string[]): HoldfastError {
  try {
    parse(words, TABLE);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error(`accepted: ${words.join(" ")}`);
}

describe("words", () => {
  it("are a command, its arguments and its flags, in any order", () => {
    const { row, args, flags } = parse(
      ["--root", "/w", "lock", "--json", "acquire", "--ttl=30s", "a", "--meta", "x=1", "b", "--meta", "y=z=2"],
      TABLE,
    );
    expect(row?.name).toBe("lock acquire");
    expect(args.get("KEY")).toEqual(["a", "b"]);
    expect(Object.fromEntries(flags)).toEqual({ root: "/w", json: true, ttl: "30s", meta: { x: "1", y: "z=2" } });
  });

  it("behind -- are no flags", () => {
    expect(parse(["lock", "status", "--", "--odd"], TABLE).args.get("KEY")).toEqual(["--odd"]);
    expect(parse(["run", "k", "--", "echo", ""], TABLE).rest).toEqual(["echo", ""]);
  });

  it("--wait 0 is a duration too, and times may be said as how long ago, or in how long", () => {
    expect(parse(["lock", "acquire", "a", "--wait", "0"], TABLE).flags.get("wait")).toBe("0ms");
    const since = parse(["audit", "list", "--since", "1h"], TABLE).flags.get("since");
    expect(Date.now() - Date.parse(String(since))).toBeGreaterThanOrEqual(3_600_000);
    const at = parse(["job", "add", "k", "--project", "p", "--at", "1h"], TABLE).flags.get("at");
    expect(Date.parse(String(at)) - Date.now()).toBeGreaterThan(3_500_000);
  });

  it("may ask for the help of a group", () => {
    const { row, command, flags } = parse(["lock", "--help"], TABLE);
    expect([row, command, flags.has("help")]).toEqual([null, "lock", true]);
  });

  it("help and version are asked for without dashes, too", () => {
    for (const word of ["help", "version"]) expect(parse([word], TABLE).flags.has(word)).toBe(true);
    const { row, flags } = parse(["--json", "help", "lock", "acquire"], TABLE);
    expect([row?.name, [...flags.keys()]]).toEqual(["lock acquire", ["json", "help"]]);
    expect(parse(["issue", "add", "help"], TABLE).args.get("TITLE")).toEqual(["help"]);
  });
});

describe("CLI-4: usage errors", () => {
  // kills: cli-empty-word (publish)
  it.each([
    [["lock", "acquire"], "KEY: is missing", "holdfast lock acquire --help"],
    [["publish", "", "--from", "build"], "TARGET: is empty", "holdfast publish --help"],
    [["lock", "status", "a", "b"], '"b": is one word too many', "holdfast lock status --help"],
    [
      ["lock", "acquire", "a", "--tll", "3s"],
      "--tll: there is no such flag; did you mean --ttl?",
      "holdfast lock acquire --help",
    ],
    [["lock", "acquire", "a", "--ttl"], "--ttl: needs a value", "holdfast lock acquire --help"],
    [["lock", "acquire", "a", "--ttl", "3 s"], '--ttl: "3 s" is no duration', "holdfast lock acquire --help"],
    [["lock", "acquire", "a", "--ttl", "3s", "--ttl", "4s"], "--ttl: was given twice", "holdfast lock acquire --help"],
    [["lock", "acquire", "a", "--mode", "own"], "is none of read, upgradeable, write", "holdfast lock acquire --help"],
    [["lock", "acquire", "a", "--permits", "1.5"], "is no whole number", "holdfast lock acquire --help"],
    [["lock", "acquire", "a", "--meta", "x"], "is not name=value", "holdfast lock acquire --help"],
    [["lock", "acquire", "a", "--meta", "x=1", "--meta", "x=2"], "x was given twice", "holdfast lock acquire --help"],
    [["job", "add", "k", "--project", "p", "--"], "CMD: is missing behind --", "holdfast job add --help"],
    [["gate", "add", "g", "--", ""], "CMD: is empty", "holdfast gate add --help"],
    [["lock", "verify", "a"], "--fence: is needed", "holdfast lock verify --help"],
    [["lock", "status", "a", "--json=yes"], "--json: takes no value", "holdfast lock status --help"],
    [["completion", "tcsh"], "is none of bash, zsh, fish", "holdfast completion --help"],
    [["lokc", "status", "a"], "did you mean lock status?", "holdfast lock status --help"],
    [["lok"], "did you mean lock?", "holdfast lock --help"],
    [["issues", "lst"], "did you mean issue list?", "holdfast issue list --help"],
    [["issue", "update", "1", "--gate", "g"], "did you mean --add-gate, --rm-gate?", "holdfast issue update --help"],
    [["lock", "aquire", "a"], "did you mean lock acquire?", "holdfast lock acquire --help"],
    [["lock"], "say what to do: lock acquire, renew", "holdfast lock --help"],
    [["issue", "dep"], "say what to do: issue dep add, rm", "holdfast issue dep --help"],
    [["job", "add", "--at", "soon"], "or 15m for that long from now", "holdfast job add --help"],
    [["audit", "list", "--since", "soon"], "or 15m for that long ago", "holdfast audit list --help"],
    [["frobnicate"], "there is no command", "holdfast --help"],
    [["acquire", "a"], "did you mean lock acquire, lease acquire?", "holdfast lock acquire --help"],
    [["lock", "get"], 'there is no command "lock get"', "holdfast lock --help"],
    [["help", "frobnicate"], 'there is no command "frobnicate"', "holdfast --help"],
  ])("%j", (words, message, next) => {
    const error = refusal(...words);
    expect([error.code, error.message.includes(message), error.message]).toEqual([
      "E_INVALID_ARGUMENT",
      true,
      error.message,
    ]);
    expect(error.details.field).toBeTypeOf("string");
    expect([next, "Correct the argument that `details.field` names."]).toContain(error.next[0]);
  });
});
