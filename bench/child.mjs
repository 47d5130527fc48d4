// A child process seen from the benchmark: calls go over as messages (see serve.mjs), answers come back as promises.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts a script of children/ with its contestant opened, ready for calls. */
export async function startChild(script, contestant, folder) {
  const process = fork(fileURLToPath(new URL(`children/${script}`, import.meta.url)), [contestant, folder], {
    serialization: "advanced",
  });
  const waiting = new Map();
  let calls = 0;
  let isExpected = false;
  const exited = once(process, "exit").then(([code, signal]) => {
    const error = new Error(`${script} ${contestant} ended early (${signal ?? code})`);
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    if (!isExpected && (code !== 0 || signal !== null)) throw error;
  });
  exited.catch(() => undefined);
  process.on("message", ({ id, result, error }) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(`${script} ${contestant}: ${error}`));
  });

  const child = {
    contestant,
    call(name, argument) {
      calls += 1;
      const id = calls;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        process.send({ id, name, argument });
      });
    },
    async kill() {
      isExpected = true;
      process.kill("SIGKILL");
      await exited;
    },
    async stop() {
      process.disconnect();
      await exited;
    },
  };
  await child.call("open");
  return child;
}
