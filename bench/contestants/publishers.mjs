// Two ways to publish a tree: with Holdfast, and by a script that knows nothing of it. The parts are in
// children/publisher.mjs.
import { openHoldfast } from "../../dist/index.js";
import { databaseIn } from "./open.mjs";

export async function openPublisher(folder) {
  const client = await openHoldfast({ store: `sqlite:${databaseIn(folder)}`, owner: "service:bench" });
  return { client, folder, close: () => client.close() };
}

export async function openBareScript(folder) {
  return { client: null, folder, close: async () => undefined };
}
