/** A deliverable folder of a workspace is locked in its store as well, each way tried by processes of their own. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDeliverable } from "../../../src/deliverable.js";
import { openHoldfast } from "../../../src/index.js";
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
const lock = (thing: Thing, owner: string, ...more: string[]) =>
  command("deliverable", "lock", thing.folder, ...as(owner), ...more);
const unlock = (thing: Thing, owner: string) => command("deliverable", "unlock", thing.folder, ...as(owner));
const acquire = (key: string, owner: string) => command("lock", "acquire", key, "--wait", "0", ...as(owner));

async function must(...words: readonly string[]): Promise<void> {
  world.must(await command(...words));
}

async function heldOf(thing: Thing): Promise<string[]> {
  const lists = await Promise.all(
    [thing.key, `deliverable:${thing.name}`].map((key) => command("lock", "list", "--prefix", key)),
  );
  return lists.flatMap(({ stdout }) =>
    (JSON.parse(stdout) as { data: { grants: { resource: string }[] } }).data.grants.map((each) => each.resource),
  );
}

/** Runs a command that dies right before this operation on `_LOCK.json`. */
async function killedAt(operation: "linkSync" | "unlinkSync" | "renameSync", words: readonly string[]): Promise<void> {
  const script = join(world.signs, `kill-${operation}.cjs`);
  writeFileSync(
    script,
    `const fs = require("node:fs");
const real = fs.${operation};
fs.${operation} = (...paths) => {
  if (String(paths.at(-1)).endsWith("_LOCK.json")) process.kill(process.pid, "SIGKILL");
  return real(...paths);
};
require("node:module").syncBuiltinESMExports();`,
  );
  const child = world.spawn([process.execPath, "--require", script, MAIN, ...words], null);
  child.stdin?.end();
  expect((await ended(child)).exit).not.toBe(0);
  expect(child.signalCode).toBe("SIGKILL");
}

describe("a locked deliverable folder", () => {
  // kills: deliverable-path-key, deliverable-unlock-store
  it("is held by its id and by its path, which end with it", async () => {
    const thing = await world.thing(world.root);
    world.must(await lock(thing, "one"));
    expect(await heldOf(thing)).toEqual([thing.key, `deliverable:${thing.name}`]);
    expect((await acquire(`deliverable:${thing.name}`, "two")).exit).toBe(CONFLICT);
    expect((await acquire(`${thing.key}/a.txt`, "two")).exit).toBe(CONFLICT);
    await must("deliverable", "renew", thing.folder, "--ttl", "1h", ...as("one"));
    world.must(await unlock(thing, "one"));
    expect(await heldOf(thing)).toEqual([]);
  });

  // kills: one-thing-deliverable
  it("has no grant left once its id or its path is broken", async () => {
    for (const name of ["id", "path"]) {
      const thing = await world.thing(world.root);
      world.must(await lock(thing, "one"));
      const key = name === "id" ? `deliverable:${thing.name}` : thing.key;
      await must("lock", "break", key, "--reason", "needed", "--owner", "user:two");
      expect(await heldOf(thing)).toEqual([]);
      world.must(await unlock(thing, "one"));
    }
  });

  it("is refused while a file in it, or its id, is held, with the report of a folder", async () => {
    const thing = await world.thing(world.root);
    for (const key of [`${thing.key}/a.txt`, `deliverable:${thing.name}`]) {
      world.must(await acquire(key, "two"));
      const { exit, stdout } = await lock(thing, "one");
      expect(exit).toBe(CONFLICT);
      expect(JSON.parse(stdout)).toMatchObject({
        error: { details: { contention: { deliverable_id: thing.name, holder: "agent:two" } } },
      });
      expect(readdirSync(thing.folder)).not.toContain("_LOCK.json");
      await must("lock", "release", key, ...as("two"));
    }
  });

  it("is one with another folder of the same id: the refusal names that folder and --id", async () => {
    const [one, two] = [await world.thing(world.root), await world.thing(world.root)];
    world.must(await lock(one, "one", "--id", "DEL-1"));
    const { exit, stdout } = await lock(two, "two", "--id", "DEL-1");
    expect(exit).toBe(CONFLICT);
    expect(stdout).toContain(one.folder);
    expect(stdout).toContain("--id ID");
    world.must(await lock(two, "two", "--id", "DEL-2"));
    for (const [thing, owner] of [
      [one, "one"],
      [two, "two"],
    ] as const)
      world.must(await unlock(thing, owner));
  });

  // kills: deliverable-commit-store
  it("commits nothing once its grants in the store were ended", async () => {
    const thing = await world.thing(world.root);
    const held = await openDeliverable(thing.folder, { holder: "agent:one" }).lock();
    await held.commit(() => writeFileSync(join(thing.folder, "a.txt"), "two"));
    await using person = await openHoldfast({ root: world.root, owner: "user:person" });
    await person.break(thing.key, { reason: "the folder is needed" });
    await expect(held.commit(() => undefined)).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    await expect(held.renew()).rejects.toMatchObject({ code: "E_LOCK_NOT_HELD" });
    await held.unlock();
    expect(await heldOf(thing)).toEqual([]);
  });

  it("ends with the process that it is bound to, in both places", async () => {
    const thing = await world.thing(world.root);
    const participant = world.participant(placeNamed("in the root"));
    await participant.must("lockFolder", { path: thing.folder });
    expect((await acquire(`${thing.key}/a.txt`, "two")).exit).toBe(CONFLICT);
    await participant.end(world);
    world.must(await acquire(`${thing.key}/a.txt`, "two"));
    await must("lock", "release", `${thing.key}/a.txt`, ...as("two"));
    world.must(await lock(thing, "two"));
    world.must(await unlock(thing, "two"));
  });

  it("in a run that holds it already nests in what the run holds", async () => {
    const thing = await world.thing(world.root);
    const line = [process.execPath, MAIN, "deliverable", "lock", thing.folder, ...as("one")];
    await must(
      "run",
      thing.key,
      ...as("one"),
      "--",
      "/bin/sh",
      "-c",
      `${line.join(" ")} && ${line.join(" ").replace(" lock ", " unlock ")}`,
    );
    expect(await heldOf(thing)).toEqual([]);
  });

  // kills: hook-ends-deliverable
  it("counts as the agent's own to its hook, and outlasts the session", async () => {
    const thing = await world.thing(world.root);
    const hook = async (event: object) => {
      const child = world.spawn([process.execPath, MAIN, "hook", "check", "claude"], null);
      child.stdin?.end(JSON.stringify({ session_id: "s9", cwd: world.root, ...event }));
      return (await ended(child)).exit;
    };
    world.must(await lock(thing, "claude-s9"));
    const input = { file_path: join(thing.folder, "a.txt"), content: "x" };
    expect(await hook({ hook_event_name: "PreToolUse", tool_name: "Write", tool_input: input })).toBe(0);
    await hook({ hook_event_name: "SessionEnd" });
    expect(await heldOf(thing)).toEqual([thing.key, `deliverable:${thing.name}`]);
    world.must(await unlock(thing, "claude-s9"));
  });

  it("outside of a workspace is locked by its file alone", async () => {
    const folder = join(world.dir, "outside");
    mkdirSync(folder);
    await must("deliverable", "lock", folder, ...as("one"));
    await must("deliverable", "unlock", folder, ...as("one"));
    expect(readdirSync(world.dir)).not.toContain(".holdfast");
    rmSync(folder, { recursive: true });
  });
});

describe("a command that is killed between the store and the file", () => {
  // kills: deliverable-left-grants
  it("leaves grants that refuse others, and that the next `lock` of the same owner ends", async () => {
    const thing = await world.thing(world.root);
    await killedAt("linkSync", ["deliverable", "lock", thing.folder, ...as("one")]);
    expect(readdirSync(thing.folder)).not.toContain("_LOCK.json");
    expect((await acquire(`${thing.key}/a.txt`, "two")).exit).toBe(CONFLICT);
    expect((await lock(thing, "two")).exit).toBe(CONFLICT);
    world.must(await lock(thing, "one"));
    world.must(await unlock(thing, "one"));
    expect(await heldOf(thing)).toEqual([]);
  });

  it("leaves nothing in the way when the lock was bound to a process that is gone", async () => {
    const thing = await world.thing(world.root);
    const sleeper = world.spawn(["sleep", "60"], null);
    await killedAt("linkSync", ["deliverable", "lock", thing.folder, ...as("one"), "--pid", String(sleeper.pid)]);
    expect((await lock(thing, "two")).exit).toBe(CONFLICT);
    await world.end(sleeper);
    world.must(await lock(thing, "two"));
    world.must(await unlock(thing, "two"));
  });

  it("on its way out leaves a file that refuses others, until its owner unlocks again", async () => {
    const thing = await world.thing(world.root);
    world.must(await lock(thing, "one"));
    await killedAt("unlinkSync", ["deliverable", "unlock", thing.folder, ...as("one")]);
    expect(await heldOf(thing)).toEqual([]);
    expect((await acquire(`${thing.key}/a.txt`, "two")).exit).toBe(CONFLICT);
    world.must(await unlock(thing, "one"));
    world.must(await acquire(`${thing.key}/a.txt`, "two"));
    await must("lock", "release", `${thing.key}/a.txt`, ...as("two"));
  });

  it("in a renewal leaves a lock that is renewed and unlocked as before", async () => {
    const thing = await world.thing(world.root);
    world.must(await lock(thing, "one"));
    await killedAt("renameSync", ["deliverable", "renew", thing.folder, ...as("one")]);
    await must("deliverable", "renew", thing.folder, ...as("one"));
    world.must(await unlock(thing, "one"));
    expect(await heldOf(thing)).toEqual([]);
  });
});
