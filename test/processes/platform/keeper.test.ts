/** A keeper whose maker is killed, as processes: what runs is the built one. */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { listGroup } from "../../../src/platform/process/process-table.js";
import { signalGroup } from "../../../src/platform/process/signal-group.js";

const MAKER = fileURLToPath(new URL("./killed-maker.fixture.mjs", import.meta.url));
const CASES = [
  { when: "before", what: "before it could tell of its command" },
  { when: "after", what: "right after that" },
];

let group: number;

afterEach(() => signalGroup({ pid: group }, "SIGKILL"));

// Elsewhere the system does not show what a process was started with.
// kills: keeper-expects (before it could tell)
it.each(process.platform === "linux" ? CASES : CASES.slice(1))(
  "JOB-6 BOARD-4: the command of a maker that was killed $what ends",
  async ({ when }) => {
    const maker = spawn(process.execPath, [MAKER, when], { stdio: ["ignore", "pipe", "inherit"] });
    group = Number(await text(maker.stdout));
    expect(group).toBeGreaterThan(0);
    await expect.poll(() => listGroup(group).some(({ isZombie }) => !isZombie)).toBe(false);
  },
);
