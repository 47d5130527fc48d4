import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PATIENTLY, RunScene } from "../../fixtures/run/run.fixture.js";

function fill(scene: RunScene, dir: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(scene.path(dir), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(scene.path(`${dir}/${name}`), text);
}

async function json(scene: RunScene, ...args: string[]): Promise<{ exit: unknown; answer: Record<string, never> }> {
  const command = scene.holdfast([...args, "--json"]);
  return { exit: await command.finished, answer: JSON.parse(command.out) };
}

describe("publish", PATIENTLY, () => {
  it("PUB-1 PUB-4 CLI-2 publishes a folder, lists and verifies it", async () => {
    await using scene = new RunScene();
    fill(scene, "build", { index: "one", page: "two" });
    mkdirSync(scene.path("place"));
    const first = scene.holdfast(["publish", "place/out", "--from", "build", "--lock", "site"]);
    expect([await first.finished, first.err]).toEqual([0, ""]);
    expect(first.out).toContain("2 files, 6 B, under site");
    writeFileSync(scene.path("build/index"), "three");
    const second = await json(scene, "publish", "place/out", "--from", "build", "--lock", "site");
    expect(second).toMatchObject({
      exit: 0,
      answer: { ok: true, data: { replaced: true, manifest: { state: "committed" } } },
    });
    expect(readFileSync(scene.path("place/out/index"), "utf8")).toBe("three");
    expect(readdirSync(scene.path("place/tmp"))).toEqual([]);
    const list = await json(scene, "manifest", "list", "place/out", "--state", "committed");
    expect(list.answer).toMatchObject({ data: { manifests: [{ file_count: 2 }, { file_count: 2 }], next: null } });
    expect(await json(scene, "manifest", "verify")).toMatchObject({
      exit: 0,
      answer: { data: { verdict: { ok: true, files: 2 } } },
    });
    writeFileSync(scene.path("place/out/index"), "THREE");
    const verify = await json(scene, "manifest", "verify", "place/out");
    expect(verify).toMatchObject({ exit: 65, answer: { data: { verdict: { bad: [{ path: "index" }] } } } });
    const misspelt = await json(scene, "manifest", "verify", "place/uot");
    expect(misspelt).toMatchObject({ exit: 89, answer: { error: { code: "E_NOT_FOUND" } } });
  });

  it("PUB-1 CLI-4 refuses another key, a held lock, an old token and a folder around the target", async () => {
    await using scene = new RunScene();
    fill(scene, "build", { index: "one" });
    mkdirSync(scene.path("place"));
    const base = ["publish", "place/out", "--from", "build"];
    expect(await json(scene, ...base, "--lock", "site")).toMatchObject({ exit: 0 });
    expect(await json(scene, ...base, "--lock", "other")).toMatchObject({
      exit: 78,
      answer: { error: { code: "E_CONFIG" } },
    });
    const holdfast = await scene.open();
    const lease = await holdfast.acquire("site", { ttl: "10m" });
    expect(await json(scene, ...base, "--lock", "site", "--wait", "0")).toMatchObject({ exit: 75 });
    expect(await json(scene, ...base, "--lock", "site", "--token", lease.token)).toMatchObject({ exit: 0 });
    const old = lease.token;
    await lease.release();
    expect(await json(scene, ...base, "--lock", "site", "--token", old)).toMatchObject({ exit: 81 });
    expect(await json(scene, "publish", "place/out", "--from", ".", "--lock", "site")).toMatchObject({ exit: 64 });
    expect(await json(scene, "publish", "place/out", "--from", "biuld", "--lock", "site")).toMatchObject({ exit: 64 });
    expect(readdirSync(scene.path("place/tmp"))).toEqual([]);
  });

  it("LOCK-10 PUB-1 publishes with the lock of the run around it", async () => {
    await using scene = new RunScene();
    fill(scene, "build", { index: "one" });
    mkdirSync(scene.path("place"));
    const run = scene.run(["site"], '"$NODE" "$MAIN" publish place/out --from build --lock site');
    expect([await run.finished, run.err]).toEqual([0, ""]);
    expect(readFileSync(scene.path("place/out/index"), "utf8")).toBe("one");
  });
});

describe("run --stage", PATIENTLY, () => {
  const OLD = { same: "same", changed: "before", gone: "gone" };

  it("FENCE-6 gives a private copy, publishes it in one step, and tells what changed", async () => {
    await using scene = new RunScene();
    fill(scene, "work/dir", OLD);
    const script =
      'rm gone; echo after > changed; mkdir new; echo x > new/file; cat "$OLDPWD/x" 2>/dev/null; ls ../../dir; [ "$PWD" = "$HOLDFAST_STAGE" ]';
    const run = scene.run(["--stage", "work/dir", "--report", "report.json", "site"], script);
    expect([await run.finished, run.out]).toEqual([0, "changed\ngone\nsame\n"]);
    expect(readdirSync(scene.path("work/dir")).sort()).toEqual(["changed", "new", "same"]);
    expect(run.err).toContain("published work/dir: 2 added, 1 changed, 1 removed");
    expect(run.err).toContain("  ~ changed\n");
    expect(scene.json("report.json")).toMatchObject({
      ok: true,
      data: { stage: { published: true, changes: { added: 2, changed: 1, removed: 1 }, manifest: { op: "stage" } } },
    });
    expect(readdirSync(scene.path("work/tmp"))).toEqual([]);
  });

  it("FENCE-6 throws the copy away when the command fails, and keeps its exit code", async () => {
    await using scene = new RunScene();
    fill(scene, "work/dir", OLD);
    const run = scene.run(["--stage", "work/dir", "site"], "rm *; exit 7");
    expect(await run.finished).toBe(7);
    expect(run.err).toContain("thrown away");
    expect(readdirSync(scene.path("work"))).toEqual(["dir"]);
    expect(readdirSync(scene.path("work/dir")).sort()).toEqual(["changed", "gone", "same"]);
    const nothing = scene.run(["--stage", "work/dir", "site"], "true");
    expect([await nothing.finished, nothing.err]).toEqual([0, expect.stringContaining("changed nothing")]);
  });

  // kills: stage-evidence
  it("FENCE-6 publishes nothing when the folder was changed by other hands", async () => {
    await using scene = new RunScene();
    fill(scene, "work/dir", OLD);
    const run = scene.run(["--stage", "work/dir", "site"], "echo mine > changed; echo theirs > ../../dir/changed");
    expect(await run.finished).toBe(83);
    expect(run.err).toContain("other hands");
    expect(readFileSync(scene.path("work/dir/changed"), "utf8")).toBe("theirs\n");
    expect(readdirSync(scene.path("work"))).toEqual(["dir"]);
    expect((await (await scene.open()).inspect("site")).state).toBe("free");
  });

  it("FENCE-6 publishes nothing when the lock was lost", async () => {
    await using scene = new RunScene();
    fill(scene, "work/dir", OLD);
    const run = scene.run(["--stage", "work/dir", "--ttl", "12s", "site"], "rm *; echo ready; sleep 100");
    await run.says(/ready/);
    await (await scene.open()).break("site", { reason: "test" });
    expect(await run.finished).toBe(81);
    expect(readdirSync(scene.path("work/dir")).sort()).toEqual(["changed", "gone", "same"]);
    expect(readdirSync(scene.path("work"))).toEqual(["dir"]);
  });

  // kills: run-stage-stopped, copy-stopped
  it.each(["before", "after"])(
    "RUN-1 FENCE-6 a signal that comes while the copy is made (%s) ends the run: the command is not started",
    async (moment) => {
      await using scene = new RunScene();
      fill(scene, "work/dir", Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`file${at}`, ""])));
      writeFileSync(scene.path("signal-at-copy.cjs"), SIGNAL_AT_COPY);
      const env = { MOMENT: moment, NODE_OPTIONS: `--require ${scene.path("signal-at-copy.cjs")}` };
      const run = scene.run(["--stage", "work/dir", "site"], "touch ../../../ran; rm *", { env });
      expect([await run.finished, run.out, run.err]).toEqual([143, moment === "before" ? "" : "copied 70", ""]);
      expect(scene.has("ran")).toBe(false);
      expect(readdirSync(scene.path("work"))).toEqual(["dir"]);
      expect((await (await scene.open()).inspect("site")).state).toBe("free");
    },
  );
});

/** SIGTERM reaches the process just before a tree is copied, or when it was and is compared with the original. */
const SIGNAL_AT_COPY = `
const fs = require("node:fs");
const timers = require("node:timers/promises");
const { cp } = fs.promises;
const { setImmediate } = timers;
const signalled = async () => {
  const awake = setInterval(() => undefined, 1_000);
  const heard = new Promise((resolve) => process.once("SIGTERM", resolve));
  process.kill(process.pid, "SIGTERM");
  await heard;
  clearInterval(awake);
};
fs.promises.cp = async (from, into, options) => {
  if (process.env.MOMENT === "before") await signalled();
  await cp(from, into, options);
  const copied = fs.existsSync(into) ? fs.readdirSync(into).length : 0;
  if (copied > 0) process.stdout.write("copied " + copied);
  timers.setImmediate = async () => {
    timers.setImmediate = setImmediate;
    require("node:module").syncBuiltinESMExports();
    await signalled();
  };
  require("node:module").syncBuiltinESMExports();
};
require("node:module").syncBuiltinESMExports();
`;
