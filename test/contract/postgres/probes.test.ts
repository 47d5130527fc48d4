import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { administer, sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const PAGE = fileURLToPath(new URL("../../../docs/postgres.md", import.meta.url));
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
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

function hasPsql(): boolean {
  try {
    execFileSync("psql", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Runs the example of the page as it stands there, with these commands as the window. */
async function runExample(url: string, window: string) {
  const blocks = readFileSync(PAGE, "utf8").split("```sh\n").slice(1);
  const example = blocks.map((block) => block.split("```")[0]).find((block) => block?.includes("lease_acquire"));
  const script = `run_the_window() { ${window}; }\n${example}`;
  const child = spawn("sh", ["-c", script, "gates", psqlUrl(url)], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: code as number, stdout, stderr };
}

/** psql refuses parameters that only other clients know. */
const psqlUrl = (url: string): string => url.replace(/query_timeout=\d+&/, "");

describe("the runtime lease in SQL", () => {
  it("RUN-2: passes the probes T1 to T7 with every statement on a connection of its own", async () => {
    const url = await newPostgresStore(server);
    expect(statements().length).toBeGreaterThan(15);
    for (const statement of statements()) await administer(url, statement);
  });

  it.runIf(hasPsql())("RUN-2: passes them with psql -f too (needs psql)", async () => {
    const url = await newPostgresStore(server);
    execFileSync("psql", ["-q", "-v", "ON_ERROR_STOP=1", "-f", PROBES, psqlUrl(url)], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  });

  describe.runIf(hasPsql())("the example in docs/postgres.md (needs psql)", () => {
    it("lets one of two runs in that begin at once, and the next one when that has ended", async () => {
      const url = await newPostgresStore(server);
      const window = "echo begins; sleep 2; echo ends";
      const both = await Promise.all([runExample(url, window), runExample(url, window)]);
      expect(both.sort((one, other) => one.code - other.code)).toEqual([
        { code: 0, stdout: "begins\nends\n", stderr: "" },
        { code: 75, stdout: "", stderr: "another run has the gates\n" },
      ]);
      expect(await runExample(url, "echo begins")).toMatchObject({ code: 0, stdout: "begins\n" });
    });

    it("ends with an error when its lease was gone before it gave it back", async () => {
      const url = await newPostgresStore(server);
      const broken = `sql "select holdfast.break('runtime:gates', 'admin:a', 'a test')" > /dev/null`;
      const { code, stderr } = await runExample(url, broken);
      expect([code, stderr]).toEqual([1, expect.stringContaining("the lease had ended")]);
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
