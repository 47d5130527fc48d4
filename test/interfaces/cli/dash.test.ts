/** DASH-1: `holdfast dash`, the command. */
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { request } from "node:http";
import { afterEach, expect, it } from "vitest";
import { ended, Scene } from "../../fixtures/command.fixture.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";

let scene: Scene;
afterEach(() => scene.close());

it("DASH-1: prints the link and nothing else where words are not wanted, and ends while it is asked", async () => {
  scene = new Scene();
  await scene.run(["init"]);
  const dash = scene.start(["dash", "--port", "0", "--quiet"]);
  const over = ended(dash);
  const [printed] = (await once(dash.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  const link = printed.toString();
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}\n$/);
  const asking = request(link.trim(), { method: "POST" }).on("error", () => undefined);
  asking.write("more to come");
  const taken = await scene.run(["dash", "--port", new URL(link).port]);
  expect([taken.exit, taken.stdout]).toEqual([74, ""]);
  expect(taken.stderr).toMatch(/port \d+ is taken.*--port 0/s);
  dash.kill("SIGTERM");
  expect(await over).toMatchObject({ exit: 0, stdout: link, stderr: "" });
});

it("DASH-1: looking makes nothing: where there is no store it says so, and what to type", async () => {
  scene = new Scene();
  expect(await scene.json(["dash"])).toMatchObject({ exit: 78, error: { code: "E_CONFIG", next: ["holdfast init"] } });
  markWorkspace(scene.root); // As git brings it: the configuration, without the locks.
  const { exit, error } = await scene.json(["dash", "--port", "0"]);
  expect([exit, error.code, error.next]).toEqual([78, "E_CONFIG", ["holdfast init"]]);
  expect(error.message).toContain("holdfast.db");
  const named = await scene.json(["dash", "--port", "0", "--store", "file:elsewhere"]);
  expect([named.exit, named.error.code]).toEqual([78, "E_CONFIG"]);
  expect(named.error.next.join()).toContain("--store");
  expect(readdirSync(scene.root, { recursive: true })).toEqual([".holdfast", "holdfast.config.json"]);
});
