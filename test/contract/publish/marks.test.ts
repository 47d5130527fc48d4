/** The mark beside a target, with the store on a server: which numbers it compares. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { raiseMark } from "../../../src/files/target-mark.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { publish } from "../../../src/publish.js";
import { administer, sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

let root: string;
let target: string;
let store: string;
let holdfast: Holdfast;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "holdfast-marks-"));
  store = await newPostgresStore(await sharedServer());
  mkdirSync(join(root, ".holdfast"));
  writeFileSync(join(root, "holdfast.config.json"), JSON.stringify({ store }));
  target = join(root, "out");
  holdfast = await openHoldfast({ root, owner: "agent:a", heart: "loop", wait: 0 });
});
afterEach(async () => {
  await holdfast.close();
  rmSync(root, { recursive: true, force: true });
});

const page = (text: string) => (stage: { write(name: string, content: string): Promise<void> }) =>
  stage.write("version", text);

function markOf(): { store: string; tree: string; fencing_token: number } {
  const folder = join(root, ".holdfast-fence");
  const [name = ""] = readdirSync(folder).filter((each) => each.endsWith(".json"));
  return JSON.parse(readFileSync(join(folder, name), "utf8"));
}

/** As in a server that was restored from a copy of before the first publish. */
async function forgetPublishes(): Promise<void> {
  await administer(store, "delete from holdfast.manifests");
}

async function numberOfTarget(): Promise<number> {
  const [entry] = (await holdfast.audit.list({ resource: "path/out", event: "granted" })).slice(-1);
  return entry?.fencing_token ?? 0;
}

describe("the mark beside a target in the workspace", () => {
  // kills: publish-mark-of-target
  it("has the number of the target's own key, whatever key the publish was made under", async () => {
    await publish({ holdfast, key: "site" }, target, page("1"));
    expect(markOf()).toMatchObject({ tree: "path", fencing_token: await numberOfTarget() });
    await publish({ holdfast, key: "path/out" }, join(root, "other"), page("1"));
    await forgetPublishes();
    await publish({ holdfast, key: "docs" }, target, page("2"));
    expect(markOf()).toMatchObject({ tree: "path", fencing_token: await numberOfTarget() });
  });

  it("has it, too, when the target is requested beside a lease in hand, and when it is held at the end only", async () => {
    await using lease = await holdfast.acquire("site");
    await publish(lease, target, page("1"));
    expect(markOf()).toMatchObject({ tree: "path", fencing_token: await numberOfTarget() });
    await publish(lease, target, page("2"), { holdAtCommit: 0 });
    expect(markOf()).toMatchObject({ tree: "path", fencing_token: await numberOfTarget() });
  });

  it("refuses a publisher with a lower number under another key", async () => {
    await publish({ holdfast, key: "site" }, target, page("1"));
    const { fencing_token, ...mark } = markOf();
    await raiseMark(target, { ...mark, fencingToken: fencing_token + 3_600_000_000 });
    await forgetPublishes();
    const late = publish({ holdfast, key: "docs" }, target, page("2"));
    await expect(late).rejects.toMatchObject({ code: "E_FENCING_MISMATCH" });
    expect(readFileSync(join(target, "version"), "utf8")).toBe("1");
  });
});
