/** What a test opens on a server, closed when it is over, the last one first. */
import { onTestFinished } from "vitest";
import { type Holdfast, type HoldfastOptions, openHoldfast } from "../../src/index.js";

export async function client(store: string, options: HoldfastOptions = {}): Promise<Holdfast> {
  return keep(await openHoldfast({ owner: "agent:a", heart: "loop", ...options, store }));
}

export function keep<T extends { close(): unknown }>(what: T): T {
  onTestFinished(async () => {
    await what.close();
  });
  return what;
}
