// proper-lockfile in its fastest asynchronous setting: without `realpath`, which also lets it lock what does not exist.
import { join } from "node:path";
import { lock } from "proper-lockfile";

export async function openProperLockfile(folder, retries) {
  return {
    async take(key) {
      return { release: await lock(join(folder, key), { realpath: false, retries }) };
    },
    async close() {},
  };
}
