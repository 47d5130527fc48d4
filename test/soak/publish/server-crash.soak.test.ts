/** The server crashes at each step of a publish. HOLDFAST_SOAK=sample takes one of them. */
import { afterAll, beforeAll, describe, it } from "vitest";
import { ownServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { crashWhile, type Moment } from "../../fixtures/publish/server-crash.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

const MOMENTS: readonly Moment[] = ["sealed", "staging", "renaming"];
let server: TestServer;

beforeAll(() => {
  server = ownServer({ isDurable: true });
});
afterAll(() => server.control?.crash());

describe(`PUB-3: a server that crashes and comes back${sample("1 of 3 moments")}`, () => {
  const chosen = IS_SAMPLE ? MOMENTS.slice(0, 1) : MOMENTS;
  it.each(chosen)("while its publisher is %s", (when) => crashWhile(server, when));
});
