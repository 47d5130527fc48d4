/** What counts as a change of the private copy that a command works on: nothing that it made is thrown away as nothing. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Lease } from "../../../src/client/lease/lease.js";
import { publishChanges } from "../../../src/features/publish/publish-changes.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";

const LONG_AGO = new Date("2020-01-01T00:00:00Z");

describe("FENCE-6: a private copy", () => {
  let dir: string;
  let folder: string;
  let holdfast: Holdfast;
  let lease: Lease;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "holdfast-changes-"));
    folder = join(dir, "out");
    mkdirSync(join(folder, "sub"), { recursive: true });
    write(folder, "one");
    holdfast = await openHoldfast({ store: `memory:${dir}`, owner: "agent:one", heart: "loop" });
    lease = await holdfast.acquire("site");
  });
  afterEach(async () => {
    await holdfast.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** As a build does that can be repeated: always the same time. */
  function write(into: string, content: string): void {
    writeFileSync(join(into, "page"), content);
    utimesSync(join(into, "page"), LONG_AGO, LONG_AGO);
  }

  async function changesOf(work: (copy: string) => void): Promise<readonly string[] | undefined> {
    const { manifest, changes } = await publishChanges(lease, folder, async (copy) => {
      work(copy);
      return true;
    });
    expect(manifest === null).toBe(changes?.paths.length === 0);
    return changes?.paths;
  }

  // kills: stage-same-time
  it("is published when a file has another content, of the same size and time", async () => {
    expect(await changesOf((copy) => write(copy, "two"))).toEqual(["~ page"]);
    expect(readFileSync(join(folder, "page"), "utf8")).toBe("two");
  });

  it("is published when a folder has another mode, also the folder itself", async () => {
    expect(await changesOf((copy) => chmodSync(join(copy, "sub"), 0o700))).toEqual(["~ sub"]);
    expect(await changesOf((copy) => chmodSync(copy, 0o700))).toEqual(["~ ."]);
    expect(statSync(folder).mode & statSync(join(folder, "sub")).mode & 0o777).toBe(0o700);
  });

  it("is not made of a folder with a pipe or a name that is not UTF-8: told which, and nothing is left", async () => {
    const pipe = join(folder, "sub", "pipe");
    execFileSync("mkfifo", [pipe]);
    const changing = () => changesOf(() => expect.unreachable());
    await expect(changing()).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
      message: expect.stringContaining(pipe),
    });
    rmSync(pipe);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x61, 0xff])]), "");
    await expect(changing()).rejects.toMatchObject({
      code: "E_INVALID_ARGUMENT",
      message: expect.stringContaining("not UTF-8"),
    });
    expect(readdirSync(dir)).toEqual(["out"]);
  });

  // kills: seal-odd-names (one beside its twin)
  it.each(["a file", "a folder", "one beside its twin"])(
    "is not published with a name that is not UTF-8, and nothing of it is left: %s",
    async (what) => {
      const work = (copy: string): void => {
        const odd = Buffer.concat([Buffer.from(`${copy}/sub/a`), Buffer.from([0xff])]);
        if (what === "a folder") mkdirSync(odd);
        else writeFileSync(odd, "");
        if (what === "one beside its twin") writeFileSync(join(copy, "sub/a\ufffd"), "");
      };
      await expect(changesOf(work)).rejects.toMatchObject({
        code: "E_INVALID_ARGUMENT",
        message: expect.stringContaining("not UTF-8"),
      });
      expect(readdirSync(dir)).toEqual(["out"]);
    },
  );

  it("is not published when a file was only written again, or touched", async () => {
    expect(await changesOf((copy) => write(copy, "one"))).toEqual([]);
    expect(await changesOf((copy) => utimesSync(join(copy, "page"), new Date(), new Date()))).toEqual([]);
  });
});
