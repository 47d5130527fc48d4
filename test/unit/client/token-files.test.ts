import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { allTokens, openTokenFiles, type TokenFiles, tokensOf } from "../../../src/client/workspace/token-files.js";
import { tokenFolder } from "../../../src/client/workspace/token-folder.js";

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "holdfast-tokens-"));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

function open(owner = "agent:one", store = "sqlite:/a"): TokenFiles {
  return openTokenFiles(tokenFolder(null, { XDG_STATE_HOME: state }, store), owner);
}

function paths(): string[] {
  return readdirSync(state, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .map((name) => join(state, name));
}

describe("CLI-3: kept tokens", () => {
  it("are found by key, owner and store, newest first, and forgotten by token", () => {
    const files = open();
    files.keep(["a", "b"], "hf_1", new Date(1_000));
    files.keep(["a"], "hf_2", new Date(2_000));
    expect(files.find("a").map((kept) => kept.lease_token)).toEqual(["hf_2", "hf_1"]);
    expect([files.find("c"), open("agent:two").find("a"), open("agent:one", "sqlite:/b").find("a")]).toEqual([
      [],
      [],
      [],
    ]);
    files.forget(["a"], "hf_1");
    expect(files.find("a").map((kept) => kept.lease_token)).toEqual(["hf_2"]);
    expect(files.find("b").map((kept) => kept.lease_token)).toEqual(["hf_1"]);
    expect(paths().map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
  });

  // kills: token-store-path
  it("are found through every path that leads to the store's file", () => {
    const [root, link] = [join(state, "root"), join(state, "link")];
    mkdirSync(root);
    symlinkSync(root, link);
    open("agent:one", `sqlite:${root}/holdfast.db`).keep(["a"], "hf_1", new Date());
    expect(open("agent:one", `sqlite:${link}/holdfast.db`).find("a")).toHaveLength(1);
    const folder = (store: string) => tokenFolder(null, { XDG_STATE_HOME: state }, store);
    expect(tokensOf(folder(`sqlite:${link}/holdfast.db`), "agent:one")).toHaveLength(1);
    expect(allTokens(folder(`sqlite:${link}/../root/holdfast.db`))).toHaveLength(1);
    expect(open("agent:one", `file:${root}/holdfast.db`).find("a")).toEqual([]);
  });

  it("are asked for until somebody notes that they were given, each by itself", () => {
    const files = open();
    files.keep(["a", "b"], "hf_1", new Date(1_000));
    files.keep(["a"], "hf_2", new Date(2_000));
    files.noteGiven(["a"], "hf_1");
    files.noteGiven(["a"], "hf_1");
    files.noteGiven(["c"], "hf_1");
    const states = [...files.find("a"), ...files.find("b")].map((kept) => `${kept.lease_token} ${kept.state}`);
    expect(states).toEqual(["hf_2 asked", "hf_1 given", "hf_1 asked"]);
  });

  it("that cannot be read are no tokens", () => {
    const files = open();
    files.keep(["a"], "hf_1", new Date());
    for (const path of paths()) writeFileSync(path, "{");
    expect(files.find("a")).toEqual([]);
  });

  // kills: token-of-another-user
  it.skipIf(process.getuid?.() !== 0)("of another user are nobody's here, not even root's (needs root)", () => {
    const files = open();
    files.keep(["a"], "hf_1", new Date());
    for (const path of paths()) chownSync(path, 65_534, 65_534);
    expect(files.find("a")).toEqual([]);
  });

  it.skipIf(process.getuid?.() === 0)(
    "that cannot be kept are told before anything is asked for (needs a user other than root)",
    () => {
      chmodSync(state, 0o500);
      expect(() => open().keep(["a"], "hf_1", new Date())).toThrow(expect.objectContaining({ code: "E_IO" }));
    },
  );
});
