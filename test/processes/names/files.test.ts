/** One thing under several names, each tried by processes of their own: an operation on files excludes the holders of their paths. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ended } from "../../fixtures/command.fixture.js";
import { placeNamed } from "../../fixtures/matrix/places.fixture.js";
import { MAIN, type Thing, World } from "../../fixtures/matrix/world.fixture.js";

const CONFLICT = 75;

let world: World;

beforeAll(async () => {
  world = await World.make(placeNamed("in the root"));
});
afterAll(() => world.close());

const as = (owner: string): string[] => ["--owner", `agent:${owner}`];
const command = (...words: readonly string[]) => world.command([...words, "--json"]);
const acquire = (key: string, owner = "other") => command("lock", "acquire", key, "--wait", "0", ...as(owner));

async function must(...words: readonly string[]): Promise<void> {
  world.must(await command(...words));
}

async function release(key: string, owner = "other"): Promise<void> {
  await must("lock", "release", key, ...as(owner));
}

async function heldIn({ key }: Thing): Promise<string[]> {
  const { stdout } = await command("lock", "list", "--prefix", key);
  return (JSON.parse(stdout) as { data: { grants: { resource: string }[] } }).data.grants.map((each) => each.resource);
}

describe("a publish under a key of its own", () => {
  // kills: one-thing-publish
  it("whose key is broken holds the files of its target no more", async () => {
    const thing = await world.thing(world.root);
    await world.reference.must("publish", { path: thing.folder, lock: "site-3" });
    await must("lock", "break", "site-3", "--reason", "needed", "--owner", "user:two");
    expect(await heldIn(thing)).toEqual([]);
    await world.reference.must("release");
    expect(readFileSync(join(thing.folder, "a.txt"), "utf8")).toBe("one");
  });

  it("refuses the files of its target to others while it is under way", async () => {
    const thing = await world.thing(world.root);
    await world.reference.must("publish", { path: thing.folder, lock: "site-1" });
    expect((await acquire(`${thing.key}/a.txt`)).exit).toBe(CONFLICT);
    await world.reference.must("release");
    expect((await acquire(`${thing.key}/a.txt`)).exit).toBe(0);
    await release(`${thing.key}/a.txt`);
  });

  it("by a command that was handed the key is refused while a file of the target is held", async () => {
    const thing = await world.thing(world.root);
    const made = join(world.dir, "handed");
    mkdirSync(made, { recursive: true });
    await must("lock", "acquire", `${thing.key}/a.txt`, ...as("other"));
    const line = [process.execPath, MAIN, "publish", thing.folder, "--from", made, "--lock", "site-2"];
    const { exit } = await command("run", "site-2", ...as("one"), "--", ...line);
    expect(exit).toBe(CONFLICT);
    expect(readFileSync(join(thing.folder, "a.txt"), "utf8")).toBe("one");
    await release(`${thing.key}/a.txt`);
  });
});

describe("`run --stage`", () => {
  const staged = (thing: Thing, wait: string, script: string) =>
    world.spawn(
      [process.execPath, MAIN, "run", "site-3", "--stage", thing.folder, "--wait", wait, ...as("one")].concat(
        "--",
        "/bin/sh",
        "-c",
        script,
      ),
      null,
    );

  // kills: publish-stage-kept
  it("keeps its work and names the command that publishes it, when the target is held at its end", async () => {
    const thing = await world.thing(world.root);
    await must("lock", "acquire", `${thing.key}/b.txt`, ...as("other"));
    const { exit, stderr } = await ended(staged(thing, "0", `echo two > "$HOLDFAST_STAGE/a.txt"`));
    expect(exit).toBe(CONFLICT);
    expect(readFileSync(join(thing.folder, "a.txt"), "utf8")).toBe("one");
    const [, line = ""] = /holdfast --owner agent:one (publish .*)$/m.exec(stderr) ?? [];
    await release(`${thing.key}/b.txt`);
    await must(...line.split(" "), ...as("one"));
    expect(readFileSync(join(thing.folder, "a.txt"), "utf8")).toBe("two\n");
    for (const name of readdirSync(world.root)) {
      if (name.startsWith(`${basename(thing.folder)}.kept-`)) rmSync(join(world.root, name), { recursive: true });
    }
    expect(await heldIn(thing)).toEqual([]);
  });

  it("tries again until its wait is over", async () => {
    const thing = await world.thing(world.root);
    await must("lock", "acquire", `${thing.key}/b.txt`, ...as("other"));
    const over = ended(
      staged(thing, "20s", `echo two > "$HOLDFAST_STAGE/a.txt"; touch ${join(world.signs, "staged")}`),
    );
    while (!readdirSync(world.signs).includes("staged")) await sleep(20);
    await sleep(300);
    await release(`${thing.key}/b.txt`);
    expect((await over).exit).toBe(0);
    expect(readFileSync(join(thing.folder, "a.txt"), "utf8")).toBe("two\n");
  });
});

describe("a worktree", () => {
  // kills: worktree-payload
  it("that a caller acquires holds the files of its payload, and gives both back together", async () => {
    const thing = await world.thing(world.root);
    await world.reference.must("addWorktree", "w1", thing.folder);
    await must("lock", "acquire", "worktree:w1", ...as("one"));
    expect(await heldIn(thing)).toEqual([thing.key]);
    expect((await acquire(`${thing.key}/a.txt`)).exit).toBe(CONFLICT);
    await must("lock", "renew", "worktree:w1", ...as("one"));
    await release("worktree:w1", "one");
    expect(await heldIn(thing)).toEqual([]);
  });

  // kills: one-thing-worktree
  it("that is broken takes its payload with it, and a payload that is broken its worktree", async () => {
    const thing = await world.thing(world.root);
    await world.reference.must("addWorktree", "w6", thing.folder);
    for (const key of ["worktree:w6", thing.key]) {
      await must("lock", "acquire", "worktree:w6", ...as("one"));
      await must("lock", "break", key, "--reason", "needed", "--owner", "user:two");
      expect(await heldIn(thing)).toEqual([]);
      expect((await acquire("worktree:w6", "two")).exit).toBe(0);
      await release("worktree:w6", "two");
    }
  });

  it("is refused while a file of its payload is held", async () => {
    const thing = await world.thing(world.root);
    await world.reference.must("addWorktree", "w2", thing.folder);
    await must("lock", "acquire", `${thing.key}/a.txt`, ...as("other"));
    expect((await acquire("worktree:w2", "one")).exit).toBe(CONFLICT);
    await release(`${thing.key}/a.txt`);
  });

  it("is restored in place only while no other holder has a file of its payload, whatever the caller holds", async () => {
    const thing = await world.thing(world.root);
    await must("lock", "acquire", "worktree:w3", ...as("one")); // Before it is registered, so without its payload.
    await world.reference.must("addWorktree", "w3", thing.folder);
    await must("snapshot", "w3", ...as("one"));
    await must("lock", "acquire", `${thing.key}/a.txt`, ...as("other"));
    const { stdout } = await command("history", "w3");
    const [id = ""] = /\d{8}-\d{9}-[0-9a-f]{8}/.exec(stdout) ?? [];
    const restore = () => command("restore", id, "--inplace", "--worktree", "w3", ...as("one"));
    expect((await restore()).exit).toBe(CONFLICT);
    await release("worktree:w3", "one");
    expect((await restore()).exit).toBe(CONFLICT);
    await release(`${thing.key}/a.txt`);
    expect((await restore()).exit).toBe(0);
    expect(await heldIn(thing)).toEqual([]);
  });

  it("is snapshotted beside files that others hold", async () => {
    const thing = await world.thing(world.root);
    await world.reference.must("addWorktree", "w4", thing.folder);
    await must("lock", "acquire", `${thing.key}/a.txt`, ...as("other"));
    await must("snapshot", "w4", ...as("one"));
    await release(`${thing.key}/a.txt`);
  });
});

describe("a `_LOCK.json` of another program that holds a folder", () => {
  const write = (folder: string, text: object): void =>
    writeFileSync(join(folder, "_LOCK.json"), `${JSON.stringify(text)}\n`);
  const record = (holder: string, ageMs = 0) => ({
    schema_version: "1.0",
    deliverable_id: "DEL-1",
    holder,
    acquired: new Date(Date.now() - ageMs).toISOString(),
    lease_duration_s: 600,
    pid: null,
  });
  const hook = async (path: string, session: string) => {
    const child = world.spawn([process.execPath, MAIN, "hook", "check", "claude"], null);
    const tool = { tool_name: "Write", tool_input: { file_path: path, content: "x" } };
    child.stdin?.end(JSON.stringify({ session_id: session, cwd: world.root, hook_event_name: "PreToolUse", ...tool }));
    return ended(child);
  };

  // kills: folder-lock-look, folder-lock-own
  it("refuses the files in it to others, with its report, and leaves nothing held", async () => {
    const thing = await world.thing(world.root);
    const inner = join(thing.folder, "deep", "er");
    mkdirSync(inner, { recursive: true });
    write(thing.folder, record("agent:holder"));
    const { exit, stdout } = await acquire(`${thing.key}/deep/er/new.txt`);
    expect(exit).toBe(CONFLICT);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { details: { contention: { type: "LOCK_CONTENTION", holder: "agent:holder", deliverable_id: "DEL-1" } } },
    });
    expect(await heldIn(thing)).toEqual([]);
    expect((await hook(join(inner, "new.txt"), "s1")).exit).not.toBe(0);
    expect((await acquire(`${thing.key}/a.txt`, "holder")).exit).toBe(0);
    await release(`${thing.key}/a.txt`, "holder");
  });

  // kills: folder-lock-new
  it("refuses the files in it, and the folder, as soon as it is there, also to a program that locked them just now", async () => {
    const thing = await world.thing(world.root);
    mkdirSync(join(thing.folder, "deep"));
    for (const [folder, key] of [
      [thing.folder, `${thing.key}/deep/a.txt`],
      [join(thing.folder, "deep"), `${thing.key}/deep`],
    ] as const) {
      await world.reference.must("acquire", { key });
      await world.reference.must("release");
      write(folder, record("agent:holder"));
      expect(await world.reference.call("acquire", { key })).toMatchObject({ error: { code: "E_LOCK_CONFLICT" } });
      rmSync(join(folder, "_LOCK.json"));
      await world.reference.must("acquire", { key });
      await world.reference.must("release");
    }
  });

  // kills: hook-folder-lock
  it("refuses a hook a file that its run holds already", async () => {
    const thing = await world.thing(world.root);
    const file = join(thing.folder, "a.txt");
    expect((await hook(file, "s2")).exit).toBe(0);
    write(thing.folder, record("agent:holder"));
    const { exit, stderr } = await hook(file, "s2");
    expect(exit).not.toBe(0);
    expect(stderr).toContain("LOCK_CONTENTION");
  });

  // kills: folder-lock-over
  it("is no hindrance once its lease is over", async () => {
    const thing = await world.thing(world.root);
    write(thing.folder, record("agent:holder", 3_600_000));
    expect((await acquire(`${thing.key}/a.txt`)).exit).toBe(0);
  });

  it("is ignored when it has no record and Holdfast kept nothing beside it", async () => {
    const thing = await world.thing(world.root);
    write(thing.folder, { lockfileVersion: 3 });
    expect((await acquire(`${thing.key}/a.txt`)).exit).toBe(0);
    const marked = await world.thing(world.root);
    write(marked.folder, { lockfileVersion: 3 });
    writeFileSync(join(marked.folder, "_LOCK.log.jsonl"), "");
    const { exit, stdout } = await acquire(`${marked.key}/a.txt`);
    expect(exit).not.toBe(0);
    expect(stdout).toContain("E_STORE_CORRUPT");
  });
});
