/** Everything of publishing from the command line, with the store on a server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";
import { outlive } from "../../fixtures/publish/server-statements.fixture.js";
import { RunScene } from "../../fixtures/run/run.fixture.js";

const LEFT = fileURLToPath(new URL("../../fixtures/publish/unfinished-publisher.fixture.mjs", import.meta.url));

async function sceneOnServer() {
  const scene = new RunScene();
  const store = await newPostgresStore(await sharedServer());
  mkdirSync(scene.path("place"));
  mkdirSync(scene.path("build"));
  writeFileSync(scene.path("build/index"), "one");
  return {
    scene,
    store,
    target: scene.path("place/out"),
    async json(...words: readonly string[]) {
      const run = scene.holdfast([...words, "--json"], { env: { HOLDFAST_STORE: store } });
      const exit = await run.finished;
      return { exit, answer: JSON.parse(run.out || run.err) as { data: Record<string, unknown> } };
    },
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

/** The publisher dies where it is told to, and its lease runs out. */
async function leaveBehind(store: string, target: string, where: "staging" | "cleaning"): Promise<void> {
  const child = spawn(process.execPath, [LEFT, store, target, where], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
  await outlive(store, 240 * 3_600_000);
}

describe("publishing from the command line, on PostgreSQL", () => {
  it("PUB-1: a folder around the workspace is not replaced, though the locks are elsewhere", async () => {
    await using at = await sceneOnServer();
    const { scene, json } = at;
    markWorkspace(scene.path("around/workspace"));
    const words = ["around", "--from", "build", "--lock", "site", "--root", scene.path("around/workspace")];
    const refused = { exit: 64, answer: { error: { code: "E_INVALID_ARGUMENT", details: { field: "target" } } } };
    expect(await json("publish", ...words)).toMatchObject(refused);
    const run = scene.holdfast(["run", "site", "--stage", "around", ...words.slice(-2), "--", "true"], {
      env: { HOLDFAST_STORE: at.store },
    });
    expect([await run.finished, run.err]).toEqual([64, expect.stringContaining("it contains the workspace")]);
    expect(readdirSync(scene.path("around"))).toEqual(["workspace"]);
  });

  it("PUB-1 PUB-4 FENCE-6: publish, manifest list, manifest verify and run --stage", async () => {
    await using at = await sceneOnServer();
    const { scene, json } = at;
    expect(await json("publish", "place/out", "--from", "build", "--lock", "site")).toMatchObject({
      exit: 0,
      answer: { data: { replaced: false, manifest: { state: "committed", resource: "site" } } },
    });
    const run = scene.run(["--stage", "place/out", "site"], "echo two > index; echo x > more", {
      env: { HOLDFAST_STORE: at.store },
    });
    expect([await run.finished, run.err]).toEqual([0, expect.stringContaining("1 added, 1 changed, 0 removed")]);
    expect(readFileSync(`${at.target}/index`, "utf8")).toBe("two\n");
    expect((await json("manifest", "list", "place/out")).answer).toMatchObject({
      data: { manifests: [{ op: "publish" }, { op: "stage" }], next: null },
    });
    expect(await json("manifest", "verify")).toMatchObject({ exit: 0, answer: { data: { verdict: { files: 2 } } } });
    writeFileSync(`${at.target}/index`, "other");
    expect(await json("manifest", "verify", "place/out")).toMatchObject({ exit: 65 });
    const other = scene.run(["--stage", "place/out", "site"], "echo mine > index; echo theirs > ../../out/index", {
      env: { HOLDFAST_STORE: at.store },
    });
    expect([await other.finished, readFileSync(`${at.target}/index`, "utf8")]).toEqual([83, "theirs\n"]);
    expect(readdirSync(scene.path("place/tmp"))).toEqual([]);
  });

  it.each([
    ["PUBLISH_LEFT", "staging"],
    ["STAGE_LEFT", "cleaning"],
  ] as const)("PUB-3: doctor finds and settles what a killed publisher left: %s", async (code, where) => {
    await using at = await sceneOnServer();
    await leaveBehind(at.store, at.target, where);
    const codes = async (...words: string[]): Promise<string[]> => {
      const { answer } = await at.json("doctor", ...words);
      return (answer.data.findings as { code: string }[]).map((each) => each.code);
    };
    // The lease is over, which is enough: no other requester has to end the grant first.
    expect(await codes()).toContain(code);
    await at.json("doctor", "--repair");
    expect(await codes()).not.toContain(code);
    expect(readdirSync(at.scene.path("place")).filter((name) => !/^(out|tmp|\.holdfast-fence)$/.test(name))).toEqual(
      [],
    );
    expect(await at.json("manifest", "verify")).toMatchObject({ exit: 0 });
  });
});
