// Starts a command that would go on for ten minutes under a keeper, prints its pid, and is killed right then:
//   node killed-maker.fixture.mjs before|after    it has told the keeper of it
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { Keeper } from "../../../dist/platform/process/watcher.js";

const [when] = process.argv.slice(2);
const die = () => {
  process.kill(process.pid, "SIGKILL");
  for (;;); // The signal may take a moment.
};
const keeper = new Keeper(() => undefined);
keeper.start();
keeper.started(600_000, (mark) => {
  const env = { ...process.env, ...mark };
  const child = spawn("sh", ["-c", "sleep 600 & wait"], { detached: true, stdio: "ignore", env });
  writeSync(1, String(child.pid));
  if (when === "before") die();
  return child;
});
die();
