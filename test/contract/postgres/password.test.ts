import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openDal } from "../../../src/features/dal/dal.js";
import { isHoldfastError, openHoldfast } from "../../../src/index.js";
import { Scene } from "../../fixtures/command.fixture.js";
import { markWorkspace } from "../../fixtures/mark-workspace.fixture.js";
import { sharedServer, type TestServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const SECRET = "open-sesame";
let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
}, 240_000);

/** The test servers let everybody in, whatever the password. */
function withPassword(url: string): string {
  return url.replace(/\/\/([^:@/]*)(?::[^@/]*)?@/, `//$1:${SECRET}@`);
}

describe("the password of a store's URL", () => {
  // kills: postgres-password
  it("is in no property, message or detail of the library", async () => {
    const url = withPassword(await newPostgresStore(server));
    await using holdfast = await openHoldfast({ store: url, owner: "agent:a", heart: "loop" });
    expect(url).toContain(SECRET);
    expect(holdfast.storeUrl).toBe(url.replace(`:${SECRET}`, ""));
    using dal = await openDal({ holdfast, database: url });
    await using lease = await holdfast.acquire("k");
    expect(await dal.query(lease, "k", "select current_database() as name")).toHaveLength(1);

    const refused = async (store: string): Promise<string> => {
      const error = await openHoldfast({ store }).catch((reason: unknown) => reason);
      if (!isHoldfastError(error)) throw error;
      return JSON.stringify([error.code, error.message, error.details, error.next]);
    };
    expect(await refused(url.replace(/\/holdfast_/, "/nothing_"))).toMatch(/E_STORE_UNAVAILABLE(?!.*open-sesame)/);
    expect(await refused(url.replace(/^postgres(ql)?:/, "postgre:"))).toMatch(/E_CONFIG(?!.*open-sesame)/);
  });

  it("is in no output of the command, nor in what it keeps", async () => {
    const scene = new Scene();
    onTestFinished(() => scene.close());
    const url = withPassword(await newPostgresStore(server));
    markWorkspace(scene.root);
    writeFileSync(join(scene.root, "holdfast.config.json"), JSON.stringify({ store: url }));
    const shown: string[] = [];
    const run = async (...words: readonly string[]): Promise<number | null> => {
      const { stdout, stderr, exit } = await scene.run(words);
      shown.push(stdout, stderr);
      return exit;
    };
    expect(await run("config", "show")).toBe(0);
    expect(await run("config", "show", "--json")).toBe(0);
    expect(await run("migrate", "--dry-run", "--json")).toBe(0);
    expect(await run("doctor", "--json")).toBe(0);
    expect(await run("lock", "acquire", "k")).toBe(0);
    expect(await run("lock", "acquire", "k", "--wait", "0", `--store=${url}`)).not.toBe(0);
    expect(await run("lock", "list", "--store", url.replace(/\/holdfast_/, "/nothing_"))).not.toBe(0);
    expect(shown.filter((each) => each.includes(SECRET))).toEqual([]);
    expect(shown.join("")).toContain(url.replace(`:${SECRET}`, ""));
    const kept = execFileSync("grep", ["-rl", "lease_token", join(scene.root, ".holdfast")], { encoding: "utf8" });
    expect(kept).not.toBe("");
    expect(() => execFileSync("grep", ["-r", SECRET, join(scene.root, ".holdfast")])).toThrow(
      expect.objectContaining({ status: 1 }),
    );
  });
});
