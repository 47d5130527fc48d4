/**
 * The second process of the self-test: makes its proof of life, acquires a lock, reports it, and waits to be killed.
 * Arguments: STORE KEY ALIVE.
 */
import { openHoldfast } from "../../client/open-holdfast.js";
import { newNonce, openProofOfLife } from "../../platform/liveness/proof-of-life.js";

async function prove([store = "", key = "", alive = ""]: readonly string[]): Promise<void> {
  const { nonce, identity } = openProofOfLife(alive, newNonce(), { owner: "service:selftest-child" });
  const holdfast = await openHoldfast({ store, owner: "service:selftest-child", heart: "loop", wait: "5m" });
  await holdfast.acquire(key, { ttl: "1h" });
  process.stdout.write(`${JSON.stringify({ nonce, identity })}\n`);
  setTimeout(() => process.exit(1), 300_000);
}

void prove(process.argv.slice(2));
