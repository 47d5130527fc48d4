import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const PROGRAM = `
  import { openHoldfast } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
  const holdfast = await openHoldfast({ store: "memory:many", owner: "agent:a" });
  await holdfast.acquire("key");
  await Promise.allSettled(Array.from({ length: 12 }, () => holdfast.acquire("key", { wait: 20 })));
  await holdfast.close();
`;

it("LIB-1: however many wait in one process, Node does not warn of a leak", () => {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", PROGRAM], { cwd });
  expect([status, stderr.toString()]).toEqual([0, ""]);
});
