import { describe, expect, it } from "vitest";
import { codexSandboxPart, letsWrite } from "../../../src/agents/hooks/install/codex-sandbox.js";

const FOLDER = "/srv/my repo/.holdfast";
const { put, take } = codexSandboxPart("/srv/my repo");

/** What people have in this file, and what it says afterwards. */
const EXISTING: readonly (readonly [what: string, before: string])[] = [
  ["nothing", ""],
  ["other settings", 'model = "x"\n\n[mcp_servers.a]\ncommand = "a"\n'],
  ["no end of line", 'model = "x"'],
  ["the table alone", "[sandbox_workspace_write]"],
  ["the table without the list", "[sandbox_workspace_write]\nnetwork_access = true\n\n[other]\nwritable_roots = 1\n"],
  ["line ends of Windows", "[sandbox_workspace_write]\r\nnetwork_access = true\r\n"],
  ["an empty list", "[sandbox_workspace_write]\nwritable_roots = []\n"],
  ["a list", '[sandbox_workspace_write]  # mine\nwritable_roots = ["/a", \'/b\']\n[projects."/x"]\ntrust = 1\n'],
  [
    "a list over several lines",
    '[sandbox_workspace_write]\nwritable_roots = [\n  "/a", # "/srv/my repo/.holdfast"\n  "/b",\n]\n',
  ],
];

describe("the sandbox of Codex", () => {
  it.each(EXISTING)("lets the store be written, and is what it was after that, with %s", (_what, before) => {
    expect(letsWrite(before, FOLDER)).toBe(false);
    const after = put(before) ?? "";
    expect(letsWrite(after, FOLDER)).toBe(true);
    expect(after.match(/^\s*\[sandbox_workspace_write\]/gm)).toHaveLength(1);
    expect(after.match(/^\s*writable_roots = \[/gm)).toHaveLength(1);
    for (const other of ["/a", "/b"]) expect(letsWrite(after, other)).toBe(letsWrite(before, other));
    expect(put(after)).toBe(after);
    const back = take(after);
    expect(back?.trimEnd() ?? "").toBe(before.trimEnd());
    expect(take(before)).toBe(before);
  });

  it("is left alone where it is written in another form", () => {
    for (const text of [
      "sandbox_workspace_write = { writable_roots = [] }\n",
      "sandbox_workspace_write.network_access = true\n",
    ])
      expect(put(text)).toBe(text);
  });

  // kills: codex-without-sandbox
  it("need not name the store where there is no sandbox", () => {
    expect(letsWrite('sandbox_mode = "danger-full-access"\n', FOLDER)).toBe(true);
    expect(letsWrite('sandbox_mode = "workspace-write"\n', FOLDER)).toBe(false);
  });
});
