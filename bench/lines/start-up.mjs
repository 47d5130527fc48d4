// How long a command takes from start to end, beside a Node that does nothing. Most of it is reading and compiling code.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { interleave } from "../interleave.mjs";
import { inScratch } from "../scratch.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { milliseconds } from "../table.mjs";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PEER = "node -e 0";
/** What a client tells before its agent writes a file. */
const EVENT = JSON.stringify({
  hook_event_name: "PreToolUse",
  session_id: "bench",
  tool_name: "Write",
  tool_input: { file_path: "notes.md", content: "x" },
});
const TRIALS = {
  [PEER]: { args: ["-e", "0"] },
  "lock status KEY": { args: [MAIN, "lock", "status", "shop"], goal: { atMost: 1.8 } },
  "run KEY -- true": { args: [MAIN, "run", "shop", "--", "true"], goal: { atMost: 2.5 } },
  "hook check claude": { args: [MAIN, "hook", "check", "claude"], input: EVENT, goal: { atMost: 1.8 } },
};

export const startUp = {
  title: "a command from start to end, and a Node that does nothing",
  async measure({ rounds, warmUps }) {
    const times = await inScratch(async (newFolder) => {
      const cwd = newFolder();
      run([MAIN, "init"], cwd);
      return interleave(Object.keys(TRIALS), { rounds, warmUps }, (trial) =>
        run(TRIALS[trial].args, cwd, TRIALS[trial].input),
      );
    });
    return Object.keys(TRIALS)
      .filter((trial) => trial !== PEER)
      .map((trial) => ({
        what: `${trial} : ${PEER}`,
        ours: milliseconds(median(times.get(trial))),
        peer: milliseconds(median(times.get(PEER))),
        ratio: ratioOf(times.get(trial), times.get(PEER)),
        unit: "×",
        goal: TRIALS[trial].goal,
      }));
  },
};

function run(args, cwd, input = "") {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, input, encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - startedAt;
}
