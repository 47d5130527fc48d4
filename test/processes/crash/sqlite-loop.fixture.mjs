// Takes and gives back locks in an SQLite store until it is killed: PATH SEED. Says on stdout what it was told, a line each.
import { openHoldfast } from "../../../dist/index.js";

const [path, seed] = process.argv.slice(2);
const KEYS = ["alpha", "alpha/b", "alpha/b/c", "beta", "gamma/z"];
let state = Number(seed);
const random = () => {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648;
};
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const client = await openHoldfast({ store: `sqlite:${path}`, owner: "admin:loop", heart: "loop", wait: 0 });
say({ ready: true });
for (;;) {
  const keys = KEYS.filter(() => random() < 0.4);
  const mode = random() < 0.5 ? "upgradeable" : "write";
  const lease = await client.tryAcquire(keys.length === 0 ? ["alpha"] : keys, { mode, detached: random() < 0.2 });
  if (lease === null) {
    for (const { resource } of await client.list())
      await client.break(resource, { reason: "in the way" }).catch(() => undefined);
    continue;
  }
  for (const grant of lease.grants) say({ resource: grant.resource, fencing_token: grant.fencing_token });
  if (random() < 0.3) await lease.renew();
  if (mode === "upgradeable" && lease.keys.length === 1 && random() < 0.5) await lease.upgrade();
  if (random() < 0.8) await lease.release();
}
