import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const PROBES = fileURLToPath(new URL("../../../docs/probes.sql", import.meta.url));

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

/** A statement ends with a semicolon at the end of a line. */
function statements(): string[] {
  return readFileSync(PROBES, "utf8")
    .replaceAll(/^--.*$/gm, "")
    .split(/;$/m)
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

function hasPsql(): boolean {
  try {
    execFileSync("psql", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe("the runtime lease in SQL", () => {
  it("RUN-2: passes the probes T1 to T7 with every statement on a connection of its own", async () => {
    const url = await newPostgresStore(server);
    expect(statements().length).toBeGreaterThan(15);
    for (const statement of statements()) await administer(url, statement);
  });

  it.runIf(hasPsql())("RUN-2: passes them with psql -f too (needs psql)", async () => {
    // psql refuses what only other clients know.
    const url = (await newPostgresStore(server)).replace(/query_timeout=\d+&/, "");
    execFileSync("psql", ["-q", "-v", "ON_ERROR_STOP=1", "-f", PROBES, url], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  });

  it("RUN-2: a lease needs a holder and a name that is a key, and is the lock runtime:NAME", async () => {
    const url = await newPostgresStore(server);
    for (const args of ["'gates', null, 5", "'gates', ' ', 5", "'a b', 'A', 5", "null, 'A', 5", "'gates', 'A', 0"])
      await expect(administer(url, `select holdfast.lease_acquire(${args})`), args).rejects.toMatchObject({
        code: "HF007",
      });
    await administer(url, "select holdfast.lease_acquire('gates', 'A', 60)");
    const [row] = await administer<{ answer: { kind: string } }>(
      url,
      "select holdfast.acquire('{runtime:gates}', 'agent:b') as answer",
    );
    expect(row?.answer.kind).toBe("conflict");
  });

  it("RUN-2: of many holders that ask at once exactly one gets it", async () => {
    const url = await newPostgresStore(server);
    const asked = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        administer<{ token: string | null }>(url, `select holdfast.lease_acquire('gates', 'H${at}', 60) as token`),
      ),
    );
    expect(asked.filter(([row]) => row?.token !== null)).toHaveLength(1);
  });
});
