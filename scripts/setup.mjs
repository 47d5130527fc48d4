// Makes a fresh clone ready: installs what the lock file names (without install scripts) when it is not
// there yet, and with --build compiles. `npm start`, `npm test` and the others call it first.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const lockFile = readFileSync(`${root}package-lock.json`);
const wanted = createHash("sha256").update(lockFile).digest("hex");
const stamp = `${root}node_modules/.holdfast-installed`;

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  execFileSync(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: root, stdio: "inherit" });
  writeFileSync(stamp, wanted);
}
if (process.argv.includes("--build")) {
  execFileSync(process.execPath, [`${root}scripts/build.mjs`], { cwd: root, stdio: "inherit" });
}
