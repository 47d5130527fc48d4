/** A file store whose audit trail has lines that are not entries: each reader shows them, and none ends with an internal error. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Json, Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
let chain: string;
let whole: string[];

beforeAll(async () => {
  scene = new Scene();
  await scene.data(["init", "--store", "file:.holdfast/store"]);
  for (const owner of ["agent:one", "agent:two"]) {
    await scene.data(["lock", "acquire", "k", "--owner", owner]);
    await scene.data(["lock", "release", "k", "--owner", owner]);
  }
  chain = join(scene.root, ".holdfast", "store", "locks", "k", "audit.jsonl");
  whole = readFileSync(chain, "utf8").trimEnd().split("\n");
});
afterAll(() => scene.close());

const entry = (): Json => JSON.parse(whole[1] ?? "");
/** Lines of other shapes, in the place of the second of four entries. */
const SHAPES: Record<string, () => string> = {
  "no fields": () => "{}",
  null: () => "null",
  "a list": () => "[]",
  "a number": () => "7",
  "no JSON": () => '{"seq":2,',
  "a missing field": () => JSON.stringify({ ...entry(), details: undefined }),
  "a field of another type": () => JSON.stringify({ ...entry(), owner: { a: 1 }, at: 5, details: null }),
  "a holder that is a number": () => JSON.stringify({ ...entry(), details: { previous: 7 } }),
  "a line of 8 MB": () => `{"x":"${"y".repeat(8_000_000)}"}`,
};

function damage(line: string): void {
  const lines = [whole[0], line, ...whole.slice(2)].map((each) => `${each}\n`).join("");
  writeFileSync(chain, lines);
  const record = join(chain, "..", "tree.json");
  const text = readFileSync(record, "utf8");
  writeFileSync(record, text.replace(/"bytes":\d+/, `"bytes":${Buffer.byteLength(lines)}`));
}

describe("a damaged line in the audit trail", () => {
  it.each(Object.keys(SHAPES))("is listed as damaged, between whole entries: %s", async (shape) => {
    damage(SHAPES[shape]?.() ?? "");
    const { entries } = await scene.data(["audit", "list", "--prefix", "k"]);
    expect(entries.map((each: Json) => each.event)).toEqual(["granted", "damaged", "granted", "released"]);
    expect(entries[1]).toMatchObject({ seq: 2, resource: "k", owner: "", details: { reason: /^it/ } });
    expect(entries[1].details.line.length).toBeLessThanOrEqual(200);
    const verify = await scene.json(["audit", "verify"]);
    expect([verify.exit, verify.error.code, verify.error.details.bad[0].seq]).toEqual([65, "E_STORE_CORRUPT", 2]);
  });

  it("is marked for people, in the list, at the end and where a lock is explained", async () => {
    damage("{}");
    for (const words of [
      ["audit", "list"],
      ["audit", "tail"],
      ["explain", "k"],
    ]) {
      const { stdout, stderr, exit } = await scene.run(words);
      expect([exit, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/^ *\? +damaged +k .*it has no seq/m);
      expect(stdout).toMatch(/released +k +agent:two/);
    }
    const { findings } = (await scene.json(["doctor"])).data;
    expect(findings.map(({ code }: Json) => code)).toContain("AUDIT_BROKEN");
  });

  it("does not stop the reading when it is all that is left, whatever the record counts", async () => {
    writeFileSync(chain, "{}\n");
    const { entries } = await scene.data(["audit", "list"]);
    expect(entries.map(({ event, seq }: Json) => [event, seq])).toEqual([["damaged", 1]]);
    expect((await scene.run(["audit", "tail"])).exit).toBe(0);
    expect((await scene.run(["explain", "k"])).exit).toBe(0);
    expect((await scene.json(["audit", "verify"])).error.code).toBe("E_STORE_CORRUPT");
  });

  // kills: file-damaged-number
  it("does not hide what comes behind it", async () => {
    damage("{}");
    await scene.data(["lock", "acquire", "k", "--owner", "agent:three"]);
    const lines = readFileSync(chain, "utf8").trimEnd().split("\n");
    // The end of a line is lost, so two entries are one line.
    writeFileSync(chain, `${lines[0]}${lines.slice(1).join("\n")}\n`);
    const { entries } = await scene.data(["audit", "list"]);
    expect(entries.map(({ event, seq }: Json) => [event, seq])).toEqual([
      ["damaged", 1],
      ["granted", 3],
      ["released", 4],
      ["granted", 5],
    ]);
  });

  // kills: file-damaged-tree
  it("does not stop the reading of other chains when the record of its tree is gone too", async () => {
    await scene.data(["lock", "acquire", "other"]);
    writeFileSync(chain, "{}\n");
    rmSync(join(chain, "..", "tree.json"));
    expect(existsSync(chain)).toBe(true);
    const { entries } = await scene.data(["audit", "list"]);
    expect(entries.map(({ resource }: Json) => resource)).toEqual(["other"]);
    const verify = await scene.json(["audit", "verify"]);
    expect(verify.error.details.bad).toMatchObject([{ tree: "k", seq: 1 }]);
  });
});
