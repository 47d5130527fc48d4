/** What the commands say of a publish that was killed between its exchange and its record, and do about it. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { Scene } from "../../fixtures/command.fixture.js";

const CHILD = fileURLToPath(new URL("../../processes/publish/cut-publisher.fixture.mjs", import.meta.url));

function cut(root: string, at: number): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [CHILD, root, String(at), "after"], (_error, stdout) => resolve(stdout));
  });
}

it.each(["file", "sqlite"])(
  "doctor and manifest verify name an unfinished publish on a %s store, and doctor finishes it",
  async (kind) => {
    const whole = workspaceOf(kind);
    const at = JSON.parse(await cut(whole.root, 0)).findIndex((what: string) => what.startsWith("swap")) + 1;
    const scene = workspaceOf(kind);
    await cut(scene.root, at);
    const target = join(scene.root, "out");
    const verified = await scene.json(["manifest", "verify"]);
    expect(verified).toMatchObject({
      exit: 0,
      data: { verdict: { ok: true, unfinished: [{ target, owner: "agent:doomed", content: "new" }] } },
    });
    const told = await scene.run(["manifest", "verify", "out"]);
    expect([told.exit, told.stderr]).toEqual([0, expect.stringContaining("its new content stands there")]);
    const left = (findings: readonly { code: string; message: string }[]) =>
      findings.filter(({ code }) => code === "PUBLISH_LEFT").map(({ message }) => message);
    const found = await scene.json(["doctor"]);
    expect(left(found.data.findings)).toEqual([
      `a publish to ${target} by agent:doomed was not finished: its new content stands there`,
    ]);
    const repaired = await scene.json(["doctor", "--repair"]);
    expect(repaired.data.repaired).toContainEqual({ code: "PUBLISH_LEFT", message: `settled ${target}`, ok: true });
    expect(left(repaired.data.findings)).toEqual([]);
    expect(await scene.json(["manifest", "verify"])).toMatchObject({ exit: 0, data: { verdict: { unfinished: [] } } });
    expect(readFileSync(join(target, "version"), "utf8")).toBe("new");
  },
);

const scenes: Scene[] = [];

afterEach(async () => {
  for (const scene of scenes.splice(0)) await scene.close();
});

function workspaceOf(kind: string): Scene {
  const scene = new Scene();
  scenes.push(scene);
  mkdirSync(join(scene.root, ".holdfast"));
  const store = `${kind}:${join(scene.root, ".holdfast", "store")}`;
  writeFileSync(join(scene.root, "holdfast.config.json"), JSON.stringify({ store }));
  return scene;
}
