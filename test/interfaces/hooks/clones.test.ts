/** Several workspaces that record one store: equal paths in them are different files. Real processes. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-clones-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 10 }));

interface Said {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function holdfast(cwd: string, args: readonly string[], input = ""): Said {
  const { PATH } = process.env;
  const options = { cwd, input, env: { PATH, HOME: dir }, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], options);
  return { exit: status, stdout, stderr };
}

function write(session: string, cwd: string, path: string): Said {
  const call = { hook_event_name: "PreToolUse", session_id: session, cwd, tool_name: "Write" };
  return holdfast(cwd, ["hook", "check", "claude"], JSON.stringify({ ...call, tool_input: { file_path: path } }));
}

function clone(name: string, store: string): string {
  const root = join(dir, name);
  mkdirSync(join(root, ".git"), { recursive: true });
  writeFileSync(join(root, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(root, "holdfast.config.json"), JSON.stringify({ store }));
  return root;
}

function record(root: string): { id: string; store: { first: boolean | null } } {
  return JSON.parse(readFileSync(join(root, ".holdfast", "workspace.json"), "utf8"));
}

function held(root: string): string[] {
  const { stdout } = holdfast(root, ["lock", "list", "--json"]);
  const { data } = JSON.parse(stdout) as { data: { grants: { resource: string }[] } };
  return data.grants.map(({ resource }) => resource).sort();
}

const STORES: Readonly<Record<string, () => string | Promise<string>>> = {
  file: () => `file:${join(dir, "store")}`,
  sqlite: () => `sqlite:${join(dir, "holdfast.db")}`,
  postgres: async () => newPostgresStore(await sharedServer()),
};

describe.each(Object.entries(STORES))("two clones on one store (%s)", { timeout: 240_000 }, (_, urlOf) => {
  // kills: hook-first-names (sqlite)
  it("give equal paths different keys, from the first hook on", async () => {
    const store = await urlOf();
    const [first, second] = [clone("first", store), clone("second", store)];
    expect(write("a", first, join(first, "a.txt"))).toMatchObject({ exit: 0 });
    expect(write("b", second, join(second, "a.txt"))).toMatchObject({ exit: 0 });
    expect([record(first).store.first, record(second).store.first]).toEqual([true, false]);
    const ofSecond = `path@${record(second).id}/a.txt`;
    expect(held(first)).toEqual(["path/a.txt", ofSecond]);
    expect(write("c", second, join(second, "a.txt"))).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(`${ofSecond} is not free`),
    });
    const typed = holdfast(second, ["lock", "acquire", "path/a.txt"]);
    expect(typed.stderr).toContain(`that is ${ofSecond}`);
  });
});

describe("a clone whose record was written and whose store was not asked yet", () => {
  // kills: first-asked
  it("asks with its next opening, and stays the first or a further one", () => {
    const store = `sqlite:${join(dir, "holdfast.db")}`;
    const [first, second] = [clone("first", store), clone("second", store)];
    for (const root of [first, second]) {
      expect(holdfast(root, ["lock", "acquire", "k", "--wait", "0"]).exit).toBe(root === first ? 0 : 75);
      const { store: kept, ...rest } = record(root);
      const { first: _, ...unasked } = kept;
      writeFileSync(join(root, ".holdfast", "workspace.json"), JSON.stringify({ ...rest, store: unasked }));
    }
    const [before, after] = [second, first].map((root) => {
      holdfast(root, ["lock", "acquire", "other", "--wait", "0"]);
      return record(root).store.first;
    });
    expect([before, after]).toEqual([false, true]);
  });

  it("agrees on its names where many begin at once", async () => {
    const store = `sqlite:${join(dir, "holdfast.db")}`;
    const roots = [clone("one", store), clone("two", store)];
    const running = roots.flatMap((root) => [1, 2, 3].map((at) => started(root, `${root}/${at}`.slice(1))));
    expect(await Promise.all(running)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(roots.map((root) => record(root).store.first).sort()).toEqual([false, true]);
  });
});

function started(root: string, key: string): Promise<number | null> {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [MAIN, "lock", "acquire", key, "--wait", "0"], {
    cwd: root,
    env: { PATH, HOME: dir },
    stdio: "ignore",
  });
  return new Promise((resolve) => child.on("exit", resolve));
}

describe("holdfast init --store", () => {
  it("makes the workspace a further one of a store that has a first, and the first of a new one", () => {
    const [shared, own] = [`sqlite:${join(dir, "shared.db")}`, `sqlite:${join(dir, "own.db")}`];
    const first = clone("first", shared);
    expect(holdfast(first, ["init"]).exit).toBe(0);
    const second = join(dir, "second");
    mkdirSync(second);
    expect(holdfast(second, ["init", "--store", own])).toMatchObject({ exit: 0 });
    expect(record(second).store.first).toBe(true);
    expect(holdfast(second, ["init", "--store", shared])).toMatchObject({ exit: 0 });
    expect(record(second).store.first).toBe(false);
    expect(holdfast(second, ["init", "--store", own])).toMatchObject({ exit: 0 });
    expect(record(second).store.first).toBe(true);
  });
});
