// A folder to measure in, removed afterwards. BENCH_DIR puts it on another disk: a RAM disk flatters everybody.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const INTERRUPTIONS = ["SIGINT", "SIGTERM"];

/** Hands `work` a function that makes new folders. Nothing stays behind, also when it is interrupted. */
export async function inScratch(work) {
  const root = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "holdfast-bench-"));
  const remove = () => rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  const interrupt = (signal) => {
    console.error(`Interrupted (${signal}).`);
    process.exit(130);
  };
  process.once("exit", remove);
  for (const signal of INTERRUPTIONS) process.once(signal, interrupt);
  let made = 0;
  const newFolder = () => {
    const folder = join(root, String(made));
    made += 1;
    mkdirSync(folder);
    return folder;
  };
  try {
    return await work(newFolder);
  } finally {
    process.off("exit", remove);
    for (const signal of INTERRUPTIONS) process.off(signal, interrupt);
    remove();
  }
}
