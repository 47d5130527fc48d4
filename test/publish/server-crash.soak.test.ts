/** The server crashes at each step of a publish. HOLDFAST_SOAK=sample takes one of them. */
import { afterAll, beforeAll, describe, it } from "vitest";
import { ownServer, type TestServer } from "../postgres/server.js";
import { crashWhile, type Moment } from "./server-crash.js";

const MOMENTS: readonly Moment[] = ["sealed", "staging", "renaming"];
let server: TestServer;

beforeAll(() => {
  server = ownServer({ isDurable: true });
});
afterAll(() => server.control?.crash());

describe("PUB-3: a server that crashes and comes back", () => {
  const chosen = process.env.HOLDFAST_SOAK === "sample" ? MOMENTS.slice(0, 1) : MOMENTS;
  it.each(chosen)("while its publisher is %s", (when) => crashWhile(server, when));
});
