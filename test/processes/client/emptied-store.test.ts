/** A store whose file is there and empty is damaged in every way in, and only `holdfast init` begins a new one. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHoldfast } from "../../../dist/index.js";
import { Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;

beforeEach(() => {
  scene = new Scene();
});

afterEach(() => scene.close());

const LOST = { code: "E_STORE_CORRUPT", details: { lost: "emptied" } };
const WRITE = JSON.stringify({
  hook_event_name: "PreToolUse",
  session_id: "s",
  tool_name: "Write",
  tool_input: { file_path: "a.txt" },
});

const STORES = [
  { kind: "SQLite", url: "sqlite:.holdfast/holdfast.db", mark: ".holdfast/holdfast.db" },
  { kind: "file", url: "file:.holdfast/store", mark: ".holdfast/store/store.json" },
];
const REMAINS = [
  { remains: "its record and companions", record: true, companions: true },
  { remains: "its record alone", record: true, companions: false },
  { remains: "its companions alone", record: false, companions: true },
  { remains: "nothing else", record: false, companions: false },
];
const CASES = STORES.flatMap((store) => REMAINS.map((each) => ({ ...store, ...each })));

const FEW = [
  ["lock", "acquire", "k"],
  ["lock", "list"],
  ["lock", "status", "k"],
];
const ALL = [
  ...FEW,
  ["explain", "k"],
  ["audit", "verify"],
  ["job", "list"],
  ["manifest", "list"],
  ["dash", "--port", "0"],
  ["migrate"],
  ["migrate", "--uninstall"],
];

async function empty({ url, mark, record, companions }: (typeof CASES)[number]): Promise<string> {
  await scene.data(["init", "--store", url]);
  // So that the store is found without the record of the workspace.
  writeFileSync(join(scene.root, "holdfast.config.json"), JSON.stringify({ store: url }));
  await scene.data(["lock", "acquire", "k", "--owner", "agent:first"]);
  const path = join(scene.root, mark);
  truncateSync(path);
  for (const end of ["-wal", "-shm"]) {
    rmSync(path + end, { force: true });
    if (companions && mark.endsWith(".db")) writeFileSync(path + end, "");
  }
  if (!companions)
    for (const name of ["alive", "holdfast.db-turn"])
      rmSync(join(scene.root, ".holdfast", name), { recursive: true, force: true });
  if (!record) rmSync(join(scene.root, ".holdfast/workspace.json"));
  return path;
}

describe.each(CASES)("an emptied $kind store that left $remains", (each) => {
  // kills: sqlite-emptied (SQLite), file-emptied (file), read-emptied (SQLite), init-emptied (nothing else)
  it("is refused by the library, commands and hooks, stays empty, and is begun anew by init", async () => {
    const path = await empty(each);
    await expect(openHoldfast({ root: scene.root, owner: "agent:a" })).rejects.toMatchObject(LOST);
    const commands = each.record && each.companions ? ALL : FEW;
    for (const words of commands) expect((await scene.json(words)).error, words.join(" ")).toMatchObject(LOST);
    expect(scene.inShell(`echo '${WRITE}' | "$0" "$1" hook check claude`, []).exit).toBe(2);
    expect((await scene.run(["run", "k", "--", "true"])).exit).toBe(65);
    expect((await scene.run(["doctor"])).stdout).toContain("STORE_UNREADABLE");
    expect(statSync(path).size).toBe(0);
    const begun = await scene.run(["init"]);
    expect(begun.stdout + begun.stderr).toContain("is lost, with its locks");
    expect(statSync(path).size).toBeGreaterThan(0);
    expect(readdirSync(join(path, "..")).some((name) => name.includes(".lost-"))).toBe(true);
  });
});

describe("an empty file that a store URL names", () => {
  it.each([
    { url: (dir: string) => `sqlite:${join(dir, "x.db")}`, name: "x.db" },
    { url: (dir: string) => `file:${dir}`, name: "store.json" },
  ])("is refused and left as it is ($name)", async ({ url, name }) => {
    const path = join(scene.dir, name);
    writeFileSync(path, "");
    const store = url(scene.dir);
    await expect(openHoldfast({ store, owner: "agent:a" })).rejects.toMatchObject({
      ...LOST,
      message: expect.stringContaining(path),
      next: expect.arrayContaining([expect.stringContaining(`remove ${path}`)]),
    });
    for (const words of FEW)
      expect((await scene.json([...words, "--store", store], { cwd: scene.dir })).error).toMatchObject(LOST);
    expect(readFileSync(path)).toHaveLength(0);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});
