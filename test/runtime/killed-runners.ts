/**
 * Runners of one key, killed at random moments. Their commands go on alone, and no two may ever be inside together: each
 * makes a folder that only one can make, and its grandchild takes it away again at the end.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { RunScene, until } from "./run-scene.js";

const SECTION = `mkdir inside || echo overlap >> bad
  (sleep 0.4; echo section >> done; rmdir inside || echo gone >> bad) & wait`;

export async function killRunners({ forMs, runners }: { readonly forMs: number; readonly runners: number }) {
  await using scene = new RunScene();
  await scene.open();
  const over = performance.now() + forMs;
  let killed = 0;
  let finished = 0;
  const line = async (): Promise<void> => {
    while (performance.now() < over) {
      const run = scene.run(["k", "--wait", "1h"], SECTION);
      const end = await Promise.race([run.ended, sleep(Math.random() * 1_500)]);
      if (end === undefined) {
        run.signal("SIGKILL");
        killed += 1;
      } else finished += 1;
      await run.ended;
    }
  };
  await Promise.all(Array.from({ length: runners }, line));
  await until("all have left", () => !scene.has("inside"));
  const last = scene.run(["k", "--wait", "1h"], SECTION);
  await last.ended;
  const sections = scene.read("done").split("\n").length - 1;
  return { bad: scene.read("bad"), sections, killed, finished };
}
