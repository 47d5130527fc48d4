// A bare kernel lock that blocks until it is granted: the least a lock between processes can cost. No lease, no fence,
// no record of who holds it.
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { unlock, waitForLock } from "fs-native-extensions";

export async function openKernelLock(folder) {
  const descriptors = new Map();
  const descriptorOf = (key) => {
    if (!descriptors.has(key)) descriptors.set(key, openSync(join(folder, key), "a+"));
    return descriptors.get(key);
  };
  return {
    async take(key) {
      const descriptor = descriptorOf(key);
      await waitForLock(descriptor);
      return { release: async () => unlock(descriptor) };
    },
    async close() {
      for (const descriptor of descriptors.values()) closeSync(descriptor);
    },
  };
}
