// Compiles src/ to dist/ from scratch, so that nothing of an earlier build stays behind. The command line is then bundled:
// a start reads a few files instead of eighty.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "tsconfig.json"], {
  cwd: root,
  stdio: "inherit",
});

rmSync(`${root}dist/cli`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  // Beside main.js stand the modules that are started as threads or processes: their names are looked up by URL.
  entryPoints: {
    main: "src/cli/main.ts",
    "heart-thread": "src/lease/heart-thread.ts",
    "selftest-child": "src/selftest/selftest-child.ts",
  },
  outdir: "dist/cli",
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  chunkNames: "[name]-[hash]",
  logLevel: "warning",
});
chmodSync(`${root}dist/cli/main.js`, 0o755);

// The functions of the PostgreSQL store are read from beside the module that installs them, bundled or not.
for (const place of ["store/postgres", "cli"])
  cpSync(`${root}src/store/postgres/sql`, `${root}dist/${place}/sql`, { recursive: true });
