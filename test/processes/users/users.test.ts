/** Several users of one system: members of a group share a workspace, and others can neither read nor block it. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ALICE, BOB, CAROL, COMMAND, canBeOthers, OUTSIDER, ROOT, SharedFolder } from "./as-user.fixture.js";

const READING = [
  ...["lock list", "lock status job:y", "explain job:y", "audit list", "audit verify", "issue list", "history"],
  ...["worktree list", "manifest list", "doctor", "config show"],
];
/** Tries a shared kernel lock on a file that may only be read. */
const LOCKER = `
  const { openSync } = require("node:fs");
  try { openSync(process.argv[1], "r"); console.log("open"); } catch (error) { console.log(error.code); }`;

describe.skipIf(!canBeOthers())(
  "a workspace of several users (needs root, and a clone that other users can read)",
  () => {
    describe.each(["sqlite", "file"] as const)("of a %s store", (store) => {
      const reading = store === "sqlite" ? [...READING, "job list"] : READING;

      it("in one group, of any umask, hold, wait for one another, and take over from a killed one", async () => {
        const shared = new SharedFolder(0o2775, store);
        expect(shared.holdfast(ALICE, "init")).toMatchObject({ exit: 0 });
        for (const user of [ALICE, BOB, CAROL]) {
          expect(shared.holdfast(user, "lock", "acquire", `job:${user.uid}`, `path/${user.uid}/deep`)).toMatchObject({
            exit: 0,
          });
          expect(shared.holdfast(user, "issue", "add", "work")).toMatchObject({ exit: 0 });
        }
        const runner = shared.start(ALICE, [
          "node",
          COMMAND,
          "run",
          "job:one",
          "--",
          "sh",
          "-c",
          "echo held; exec sleep 600",
        ]);
        await said(runner, "held");
        expect(shared.holdfast(BOB, "lock", "acquire", "job:one", "--wait", "0")).toMatchObject({ exit: 75 });
        const waiter = shared.start(BOB, ["node", COMMAND, "run", "job:one", "--wait", "60s", "--", "echo", "mine"]);
        await expect.poll(() => shared.holdfast(CAROL, "lock", "status", "job:one").text).toContain(`user:${BOB.uid}`);
        process.kill(commandOf(runner), "SIGKILL");
        runner.kill("SIGKILL");
        await said(waiter, "mine");
        expect(shared.holdfast(CAROL, "audit", "verify")).toMatchObject({ exit: 0 });
        expect(openToOthers(shared.root)).toEqual([]);
      });

      it("outside the group are told that they cannot tell, with the path and their name, and cannot block it", () => {
        const shared = new SharedFolder(0o2775, store);
        shared.holdfast(ALICE, "init");
        shared.holdfast(ALICE, "lock", "acquire", "job:y");
        for (const line of reading) {
          const { exit, text } = shared.holdfast(OUTSIDER, ...line.split(" "));
          expect([line, exit]).toEqual([line, 74]);
          expect(text).toContain(`${join(shared.root, ".holdfast")}`);
          expect(text).toContain(`user ${OUTSIDER.uid}`);
        }
        const guard = join(
          shared.root,
          ".holdfast",
          store === "sqlite" ? "holdfast.db-turn" : "store/locks/job%3ay/guard",
        );
        expect(statSync(guard).isFile()).toBe(true);
        expect(shared.run(OUTSIDER, ["node", "-e", LOCKER, guard]).text).toBe("EACCES\n");
        expect(shared.run(BOB, ["node", "-e", LOCKER, guard]).text).toBe("open\n");
      });

      it("with read rights only, and in a file system that is read-only, read everything and write nothing", () => {
        const shared = new SharedFolder(0o2775, store);
        shared.holdfast(ALICE, "init");
        shared.holdfast(ALICE, "lock", "acquire", "job:y");
        shared.holdfast(ALICE, "issue", "add", "work");
        for (const path of everythingIn(join(shared.root, ".holdfast")))
          chmodSync(path, statSync(path).isDirectory() ? 0o750 : 0o640);
        const before = everythingIn(shared.root);
        for (const line of reading) {
          const answer = shared.holdfast(BOB, ...line.split(" "));
          expect([line, answer.exit, answer.text]).toEqual([line, 0, expect.any(String)]);
        }
        expect(shared.holdfast(BOB, "lock", "list").text).toContain("job:y");
        const mount = `mount --bind ${shared.root} ${shared.root} && mount -o remount,bind,ro ${shared.root} && cd ${shared.root}`;
        for (const line of reading) {
          const words = ["unshare", "-m", "sh", "-c", `${mount} && exec ${process.execPath} ${COMMAND} ${line}`];
          const answer = shared.run(ROOT, words, "/");
          expect([line, answer.exit, answer.text]).toEqual([line, 0, expect.any(String)]);
        }
        expect(everythingIn(shared.root)).toEqual(before);
        expect(shared.holdfast(BOB, "lock", "acquire", "job:z")).toMatchObject({ exit: 74 });
      });

      it("are told that a published folder may not be looked into, and not that its files are missing", () => {
        const shared = new SharedFolder(0o2775, store);
        shared.holdfast(ALICE, "init");
        shared.run(ALICE, ["sh", "-c", "mkdir -p from/in && echo text > from/in/file"]);
        expect(shared.holdfast(ALICE, "publish", "out", "--from", "from")).toMatchObject({ exit: 0 });
        for (const path of everythingIn(join(shared.root, ".holdfast")))
          chmodSync(path, statSync(path).isDirectory() ? 0o750 : 0o640);
        const inner = join(shared.root, "out", "in");
        chmodSync(join(shared.root, "out"), 0o755);
        for (const mode of [0o711, 0o700]) {
          chmodSync(inner, mode);
          const { exit, text } = shared.holdfast(BOB, "manifest", "verify");
          expect([mode, exit, text]).toEqual([mode, 74, expect.stringContaining(inner)]);
        }
      });

      it("read beside a writer with read rights only", async () => {
        const shared = new SharedFolder(0o2775, store);
        shared.holdfast(ALICE, "init");
        const runner = shared.start(ALICE, [
          "node",
          COMMAND,
          "run",
          "job:one",
          "--",
          "sh",
          "-c",
          "echo held; exec sleep 600",
        ]);
        await said(runner, "held");
        for (const path of everythingIn(join(shared.root, ".holdfast")))
          chmodSync(path, statSync(path).isDirectory() ? 0o750 : 0o640);
        expect(shared.holdfast(BOB, "lock", "list").text).toContain("job:one");
        process.kill(commandOf(runner), "SIGKILL");
        await once(runner, "exit");
      });

      it("of whom one is root leave everything to the user whose workspace it is", () => {
        const shared = new SharedFolder(0o755, store);
        chownSync(shared.root, ALICE.uid, ALICE.uid);
        for (const words of [["init"], ["lock", "acquire", "job:r", "path/a/b"], ["issue", "add", "by root"]])
          expect(shared.holdfast(ROOT, ...words)).toMatchObject({ exit: 0 });
        for (const path of everythingIn(join(shared.root, ".holdfast")))
          expect([path, statSync(path).uid]).toEqual([path, ALICE.uid]);
        for (const words of [
          ["lock", "acquire", "job:a", "path/a/c"],
          ["issue", "add", "by Alice"],
          ["lock", "break", "job:r", "--reason", "x"],
        ])
          expect(shared.holdfast(ALICE, ...words)).toMatchObject({ exit: 0 });
      });
    });
  },
);

async function said(child: ChildProcess, words: string): Promise<void> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (text.includes(words)) return;
  }
  throw new Error(`it ended and said only: ${text}`);
}

/** The command that a runner has started. */
function commandOf(runner: ChildProcess): number {
  return Number(readFileSync(`/proc/${runner.pid}/task/${runner.pid}/children`, "utf8").trim().split(" ").at(-1));
}

/** What users outside the group may reach. */
function openToOthers(root: string): string[] {
  return everythingIn(join(root, ".holdfast")).filter((path) => (statSync(path).mode & 0o007) !== 0);
}

function everythingIn(folder: string): string[] {
  const inside = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return [folder, ...inside].filter((path) => !path.includes("/tokens/")).sort();
}
