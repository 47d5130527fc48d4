/** A server of one's own: roles that are made after the first migration, and a standby that only reads. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openHoldfast } from "../../../src/index.js";
import { Scene } from "../../fixtures/command.fixture.js";
import { administer, inDatabase, ownServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";

const LIMIT = 240_000;

let server: TestServer;
beforeAll(() => {
  server = ownServer({ isDurable: true });
}, LIMIT);
afterAll(() => server.control?.crash());

const as = (role: string): string => inDatabase(server.url, "app").replace("//postgres@", `//${role}@`);

function scene(): Scene {
  const place = new Scene();
  onTestFinished(() => place.close());
  return place;
}

describe("an account that may not create roles", { timeout: LIMIT }, () => {
  // kills: postgres-roles-again, doctor-closed-roles
  it("is told by a migration what an administrator has to do, and the next migration opens the store", async () => {
    await administer(server.url, "create role plain login", "create role worker login");
    await administer(server.url, "create database app owner plain");
    const place = scene();

    const first = await place.run(["migrate", "--store", as("plain")]);
    expect(first.exit).toBe(0);
    expect(first.stderr).toContain("create role holdfast_user nologin");
    await administer(
      server.url,
      "create role holdfast_user nologin; create role holdfast_admin nologin; grant holdfast_user to holdfast_admin",
      "grant holdfast_user to worker",
    );
    const refused = await place.run(["lock", "acquire", "k", "--store", as("worker")]);
    expect(refused).toMatchObject({ exit: 77, stderr: expect.stringContaining("holdfast migrate") });
    const doctor = await place.run(["doctor", "--store", as("plain"), "--json"]);
    expect(doctor.stdout).toMatch(/STORE_CLOSED.*holdfast_admin and holdfast_user/s);

    const second = await place.run(["migrate", "--store", as("plain")]);
    expect(second).toMatchObject({ exit: 0, stderr: expect.not.stringContaining("warning") });
    expect((await place.run(["doctor", "--store", as("plain"), "--json"])).stdout).not.toContain("STORE_CLOSED");
    expect(await place.run(["lock", "acquire", "k", "--store", as("worker")])).toMatchObject({ exit: 0 });
  });
});

describe("a standby", { timeout: LIMIT }, () => {
  // kills: doctor-read-only
  it("is not taken by the doctor for a damaged store", async () => {
    await administer(server.url, "create database standby");
    const url = inDatabase(server.url, "standby");
    const place = scene();
    expect(await place.run(["migrate", "--store", url])).toMatchObject({ exit: 0 });
    const holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    await holdfast.acquire("standby", { detached: true, ttl: "1h" });
    await holdfast.close();
    server.control?.stop();
    writeFileSync(join(server.control?.socket ?? "", "data", "standby.signal"), "");
    server.control?.start();
    const { exit, stdout } = await place.run(["doctor", "--store", url, "--json"]);
    expect(stdout).toContain("STORE_READ_ONLY");
    expect(stdout).not.toContain("STORE_UNREADABLE");
    expect(exit).toBe(0);
    const listed = await place.run(["lock", "list", "--store", url]);
    expect(listed.stdout).toContain("standby");
  });
});
