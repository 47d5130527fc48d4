/** Measures what `npm install holdfast` brings: the package is packed as it is built, and installed into an empty folder. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NPM = process.platform === "win32" ? "npm.cmd" : "npm";

/** Builds, packs and installs. Returns `{ megabytes, packages }`; the package itself counts as one. */
export function measureInstalled() {
  const scratch = mkdtempSync(join(tmpdir(), "holdfast-installed-"));
  const npm = (args, cwd) =>
    execFileSync(NPM, [...args, "--ignore-scripts", "--loglevel=error"], {
      cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
  try {
    execFileSync(process.execPath, [join(ROOT, "scripts/build.mjs")], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [{ filename }] = JSON.parse(npm(["pack", "--json", "--pack-destination", scratch], ROOT));
    writeFileSync(join(scratch, "package.json"), JSON.stringify({ name: "scratch", private: true }));
    npm(["install", "--prefer-offline", "--no-audit", "--no-fund", join(scratch, filename)], scratch);
    const modules = join(scratch, "node_modules");
    const { packages } = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
    return { megabytes: Math.round(bytesIn(modules) / 2 ** 20), packages: Object.keys(packages).length };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The space of the files and folders on the disk, in whole blocks, as `du` counts it. */
function bytesIn(folder) {
  let sum = (statSync(folder).blocks ?? 0) * 512;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += bytesIn(path);
    else if (entry.isFile()) sum += (statSync(path).blocks ?? 0) * 512;
  }
  return sum;
}
