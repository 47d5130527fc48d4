/** A process that proves its life in a folder, and can be killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export async function startProving(dir: string) {
  const script = `
    const { openProofOfLife, newNonce } = await import(${JSON.stringify(new URL("../../../dist/platform/liveness/proof-of-life.js", import.meta.url).href)});
    const { nonce, identity } = openProofOfLife(${JSON.stringify(dir)}, newNonce(), {});
    console.log(JSON.stringify({ nonce, identity }));
    setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { nonce, identity } = JSON.parse(line.toString()) as { nonce: string; identity: string };
  return {
    nonce,
    identity,
    path: join(dir, nonce),
    async kill(signal: NodeJS.Signals) {
      child.kill(signal);
      if (signal === "SIGKILL") await once(child, "exit");
    },
  };
}
