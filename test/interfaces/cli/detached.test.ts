/** CLI-3: a detached grant is found again by its user and owner, and by nobody else, whatever was killed whenever. */
import { spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Json, openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

const USER = String(process.getuid?.());

function tokenFiles(folder = join(scene.root, ".holdfast", "tokens", USER)): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".json"))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function preload(name: string, code: string): string {
  const path = join(scene.dir, `${name}.cjs`);
  writeFileSync(path, code);
  return path;
}

describe("CLI-3: tokens", () => {
  it("are kept for the user alone, in folders of the user alone, and go with the lock", async () => {
    const folder = join(scene.dir, "state-modes", "holdfast", "grants");
    const env = { XDG_STATE_HOME: join(scene.dir, "state-modes") };
    const elsewhere = ["--store", "file:other"];
    for (const [options, words, kept] of [
      [{}, [], join(scene.root, ".holdfast", "tokens", USER)],
      [{ env, cwd: scene.dir }, elsewhere, folder],
    ] as const) {
      await scene.data(["lock", "acquire", "mode/a", "mode/b", ...words], options);
      const files = tokenFiles(kept);
      expect(files.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600]);
      expect(statSync(kept).mode & 0o777).toBe(0o700);
      await scene.data(["lock", "release", "mode/a", ...words], options);
      expect(tokenFiles(kept)).toHaveLength(1);
      await scene.data(["lock", "release", "mode/b", ...words], options);
      expect(tokenFiles(kept)).toEqual([]);
    }
  });

  // kills: token-folder-of-another
  it.skipIf(process.getuid?.() !== 0)(
    "are neither kept nor looked for in a folder that another user made, or that others may enter (needs root)",
    async () => {
      await scene.data(["lock", "acquire", "trusted"]);
      const folder = join(scene.root, ".holdfast", "tokens", USER);
      const refuse = async (): Promise<void> => {
        const refused = await scene.json(["lock", "acquire", "distrusted"]);
        expect([refused.exit, refused.error.code]).toEqual([74, "E_IO"]);
        expect((await scene.inspect("distrusted")).state).toBe("free");
        expect((await scene.json(["lock", "release", "trusted"])).exit).toBe(81);
      };
      chmodSync(folder, 0o755);
      await refuse();
      chmodSync(folder, 0o700);
      chownSync(folder, 65_534, 65_534);
      await refuse();
      chownSync(folder, 0, 0);
      await scene.data(["lock", "release", "trusted"]);
    },
  );

  it("open nothing for another owner, and are never used to acquire again", async () => {
    await scene.data(["lock", "acquire", "mine"]);
    const [other, again] = await Promise.all([
      scene.json(["lock", "release", "mine", "--owner", "agent:other"]),
      scene.json(["lock", "acquire", "mine/below", "--wait", "0"]),
    ]);
    expect([other.exit, again.exit]).toEqual([81, 75]);
    expect((await scene.inspect("mine")).state).toBe("held");
    expect((await scene.json(["lock", "release", "mine"])).exit).toBe(0);
    expect((await scene.json(["lock", "release", "mine"])).exit).toBe(81);
  });

  it("whoever asks again for what was taken under the same name is told so, not only to wait for it", async () => {
    await scene.data(["lock", "acquire", "again"]);
    const own = [
      "It was taken under your own name. If you did, it is yours already:",
      "holdfast lock renew again",
      "holdfast lock release again",
      "If not, wait for it:",
    ];
    const wait = ["holdfast lock acquire again --wait 2m", "holdfast explain again"];
    const lock = await scene.json(["lock", "acquire", "again", "--wait", "0"]);
    expect([lock.exit, lock.error.details.yours, lock.error.next]).toEqual([75, "again", [...own, ...wait]]);
    const other = await scene.json(["lock", "acquire", "again", "--wait", "0", "--owner", "agent:other"]);
    expect(other.error.next).toEqual([
      "holdfast lock acquire again --owner agent:other --wait 2m",
      "holdfast explain again",
    ]);
    const { issue } = await scene.data(["issue", "add", "Once"]);
    await scene.data(["issue", "claim", issue.id]);
    const claim = await scene.json(["issue", "claim", issue.id]);
    expect(claim.error.next).toContain(`holdfast issue release ${issue.id}`);
    for (const step of [`lock renew issue:${issue.id}`, `issue release ${issue.id}`])
      expect((await scene.run(step.split(" "))).exit, step).toBe(0);
  });

  it("of several grants on one key are told apart by --fence, as lock list shows it", async () => {
    const fences: number[] = [];
    for (let time = 0; time < 2; time += 1) {
      const { grants } = await scene.data(["lock", "acquire", "seats", "--permits", "2"]);
      fences.push(grants[0].fencing_token);
    }
    const unclear = await scene.json(["lock", "release", "seats", "--owner", "user:else"]);
    expect(unclear.exit, "nobody else's").toBe(81);
    const { exit, error } = await scene.json(["lock", "release", "seats"]);
    expect(exit).toBe(64);
    expect([...error.next].sort()).toEqual(fences.map((fence) => `holdfast lock release seats --fence ${fence}`));
    const other = await scene.json(["lock", "release", "seats", "--fence", "1"]);
    expect([other.exit, other.error.code]).toEqual([81, "E_LOCK_NOT_HELD"]);
    expect((await scene.json(["lock", "release", "seats", "x", "--fence", "1"])).exit, "for one key").toBe(64);
    const { grants } = await scene.data(["lock", "renew", "seats", "--fence", String(fences[1])]);
    expect(grants.map((grant: Json) => grant.fencing_token)).toEqual([fences[1]]);
    await scene.data(["lock", "release", "seats", "--fence", String(fences[0])]);
    await scene.data(["lock", "release", "seats"]);
    expect((await scene.inspect("seats")).state).toBe("free");
  });

  it.skipIf(process.getuid?.() !== 0)(
    "open nothing for another user of the system, not even for root (needs root)",
    async ({ skip }) => {
      // A clone in a folder of root's own is out of reach for others: then they cannot run the command at all.
      if ((await scene.run(["--version"], { uid: 65_534, cwd: "/" })).exit !== 0)
        skip("needs a clone that other users can read");
      for (const path of [scene.dir, scene.root, join(scene.root, ".holdfast")]) chmodSync(path, 0o777);
      for (const name of readdirSync(join(scene.root, ".holdfast")))
        chmodSync(join(scene.root, ".holdfast", name), 0o777);
      const env = { HOLDFAST_OWNER: "agent:same" };
      const nobody = { env, uid: 65534 };
      await scene.data(["lock", "acquire", "users"], nobody);
      expect((await scene.json(["lock", "release", "users"], { env })).exit).toBe(81);
      expect((await scene.json(["lock", "release", "users"], nobody)).exit).toBe(0);
    },
  );

  it.skipIf(process.getuid?.() !== 0)(
    "are left lying in no folder one happens to be in, for want of a home (needs root)",
    async ({ skip }) => {
      const homeless = { uid: 1_234_567, cwd: join(scene.dir, "anywhere"), env: { HOME: "", XDG_STATE_HOME: "" } };
      mkdirSync(homeless.cwd);
      for (const path of [scene.dir, homeless.cwd]) chmodSync(path, 0o777);
      if ((await scene.run(["--version"], homeless)).exit !== 0) skip("needs a clone that other users can read");
      const refused = await scene.json(["lock", "acquire", "k", "--store", "file:store"], homeless);
      expect(refused).toMatchObject({
        exit: 78,
        error: { code: "E_CONFIG", next: [expect.stringContaining("XDG_STATE_HOME")] },
      });
      expect(readdirSync(homeless.cwd)).not.toContain(".local");
    },
  );

  it("said with --token or in the environment choose the grant, and a guess is refused", async () => {
    const read = ["lock", "acquire", "shared", "--mode", "read"];
    const [one, two] = [await scene.data(read), await scene.data(read)];
    const guess = await scene.json(["lock", "release", "shared"]);
    expect([guess.exit, guess.error.details.field]).toEqual([64, "token"]);
    expect(JSON.stringify(guess)).not.toContain("hf_");
    const token = one.grants[0].lease_token;
    expect((await scene.json(["lock", "release", "shared", "--token", "hf_wrong"])).exit).toBe(81);
    const released = await scene.data(["lock", "release", "shared", "--token", token, "--owner", "agent:trusted"]);
    expect(released.grants[0].lock_id).toBe(one.grants[0].lock_id);
    const env = { HOLDFAST_LEASE_TOKEN: two.grants[0].lease_token };
    await scene.data(["lock", "acquire", "zoo"], { env });
    // The token around holds nothing on this key: the one that was kept does.
    expect((await scene.json(["lock", "release", "zoo"], { env })).exit).toBe(0);
    expect((await scene.data(["lock", "release", "shared"], { env })).grants[0].lock_id).toBe(two.grants[0].lock_id);
  });

  it("LOCK-3, LOCK-10: presented, nest in what they hold; one that holds nothing is refused, and gets ahead of nobody", async () => {
    const { grants } = await scene.data(["lock", "acquire", "outer"]);
    const [{ lease_token: token, fencing_token }] = grants;
    const inner = await scene.data(["lock", "acquire", "outer/inner", "--token", token, "--wait", "0"]);
    expect(inner.grants[0].fencing_token).toBe(fencing_token);
    const cover = await scene.json(["lock", "release", "outer"]);
    expect([cover.exit, cover.error.code]).toEqual([85, "E_LOCK_ORDER"]);

    const waiter = scene.start(["lock", "acquire", "outer", "--wait", "1h", "--owner", "agent:patient"]);
    await vi.waitUntil(async () => (await scene.inspect("outer")).waiters.length === 1, 240_000);
    const forged = await scene.json(["lock", "acquire", "outer", "--token", "hf_forged", "--wait", "0"]);
    expect([forged.exit, forged.error.code]).toEqual([81, "E_LOCK_NOT_HELD"]);
    // In the environment it is what an ended run has left: no rights, and no reason to refuse what is free.
    const env = { HOLDFAST_LEASE_TOKEN: "hf_forged" };
    expect((await scene.json(["lock", "acquire", "outer", "--wait", "0"], { env })).exit).toBe(75);
    expect((await scene.json(["lock", "acquire", "elsewhere", "--wait", "0"], { env })).exit).toBe(0);
    waiter.kill("SIGKILL");
    await scene.data(["lock", "release", "outer/inner"]);
    await scene.data(["lock", "release", "outer"]);
  });
});

describe("CLI-3: what is killed loses nothing", () => {
  // kills: token-kept-first
  it("after the grant and before a word of it: the lock is found again", async () => {
    const kill = preload(
      "kill-at-output",
      `const fs = require("node:fs"); const { writeSync } = fs;
       fs.writeSync = (fd, ...rest) => (fd === 1 ? process.kill(process.pid, "SIGKILL") : writeSync(fd, ...rest));`,
    );
    const { exit, stdout } = await scene.run(["lock", "acquire", "killed", "--json"], { preload: kill });
    expect([exit, stdout]).toEqual([null, ""]);
    expect((await scene.inspect("killed")).state).toBe("held");
    expect((await scene.json(["lock", "release", "killed"])).exit).toBe(0);
  });

  it("between keeping the token and asking for the lock: nothing is held, and nothing stands in the way", async () => {
    const kill = preload(
      "kill-after-token",
      `const fs = require("node:fs"); const { fsyncSync } = fs;
       fs.fsyncSync = (fd) => { fsyncSync(fd); if (fs.fstatSync(fd).isDirectory() && fs.readlinkSync("/proc/self/fd/" + fd).includes(".holdfast/tokens/")) process.kill(process.pid, "SIGKILL"); };`,
    );
    const before = tokenFiles().length;
    expect((await scene.run(["lock", "acquire", "unasked"], { preload: kill })).exit).toBe(null);
    expect(tokenFiles()).toHaveLength(before + 1);
    expect((await scene.inspect("unasked")).state).toBe("free");
    expect((await scene.json(["lock", "release", "unasked"])).exit).toBe(81);
    await scene.data(["lock", "acquire", "unasked"]);
    expect((await scene.json(["lock", "release", "unasked"])).exit).toBe(0);
  });

  it("refused, leaves no token behind; where none can be kept, the lock is not asked for", async () => {
    await scene.data(["lock", "acquire", "taken", "--owner", "agent:a"]);
    const before = tokenFiles();
    expect((await scene.json(["lock", "acquire", "taken", "--wait", "0"])).exit).toBe(75);
    expect(tokenFiles()).toEqual(before);
    const elsewhere = { env: { XDG_STATE_HOME: "/dev/null" }, cwd: scene.dir };
    const store = `sqlite:${join(scene.root, ".holdfast", "holdfast.db")}`;
    const refused = await scene.json(["lock", "acquire", "unkept", "--store", store], elsewhere);
    expect([refused.exit, refused.error.code]).toEqual([74, "E_IO"]);
    expect((await scene.inspect("unkept")).state).toBe("free");
  });
});

describe("LOCK-5: a grant bound to a process", () => {
  it("stands while the process does, stopped or not, and is free when it has died", async () => {
    const holder = spawn("sleep", ["1000"], { stdio: "ignore" });
    const { pid = 0 } = holder;
    try {
      const { grants } = await scene.data(["lock", "acquire", "bound", "--pid", String(pid)]);
      expect(grants[0].holder_id.split(":").at(-2)).toBe(String(pid));
      holder.kill("SIGSTOP");
      expect((await scene.json(["lock", "acquire", "bound", "--wait", "0", "--owner", "agent:b"])).exit).toBe(75);
      holder.kill("SIGKILL");
      // Nobody waits for the rest of its fifteen minutes.
      expect(await scene.data(["lock", "wait", "bound", "--wait", "4m"])).toMatchObject({ state: "free" });
      const next: Json = await scene.data(["lock", "acquire", "bound", "--owner", "agent:b"]);
      expect(next.grants[0].fencing_token).toBeGreaterThan(grants[0].fencing_token);
    } finally {
      holder.kill("SIGKILL");
    }
    const nobody = await scene.json(["lock", "acquire", "bound/x", "--pid", "4194303"]);
    expect([nobody.exit, nobody.error.details.field]).toEqual([64, "pid"]);
  });
});
