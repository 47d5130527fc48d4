// Writes what pages have from the source: docs/cli.md from the command table and docs/cli-intro.md, and the rooms in
// ARCHITECTURE.md from their table.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { withPicture } from "./house/law.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "holdfast-docs-"));
try {
  const outfile = join(folder, "page.cjs");
  await build({
    absWorkingDir: root,
    entryPoints: ["src/apps/cli/reference-page.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    packages: "external",
    define: { "import.meta.url": "undefined" },
    logLevel: "warning",
  });
  const { cliPage } = await import(pathToFileURL(outfile).href);
  writeFileSync(`${root}docs/cli.md`, cliPage(readFileSync(`${root}docs/cli-intro.md`, "utf8")));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const architecture = `${root}ARCHITECTURE.md`;
writeFileSync(architecture, withPicture(readFileSync(architecture, "utf8")));
