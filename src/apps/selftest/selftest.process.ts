/**
 * The second process of the self-test: makes its proof of life, acquires a lock, reports it, and waits to be killed.
 * Arguments: STORE KEY ALIVE.
 */
import { openIn } from "../../client/open-holdfast.js";
import { storeAlone } from "../../client/workspace/find-workspace.js";
import { newNonce, openProofOfLife } from "../../platform/liveness/proof-of-life.js";

async function prove([store = "", key = "", alive = ""]: readonly string[]): Promise<void> {
  const { nonce, identity } = openProofOfLife(alive, newNonce(), { owner: "service:selftest-child" });
  const holdfast = await openIn(storeAlone(store, "service:selftest-child"), { heart: "loop" });
  await holdfast.acquire(key, { ttl: "1h", wait: "5m" });
  process.stdout.write(`${JSON.stringify({ nonce, identity })}\n`);
  setTimeout(() => process.exit(1), 300_000);
}

void prove(process.argv.slice(2));
