/** The first openers of a workspace, killed at each step and racing one another: one store is recorded, and all mean it. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Folder } from "../../fixtures/client/folder.fixture.js";
import { ended, linesOf } from "../../fixtures/command.fixture.js";

const OPENER = fileURLToPath(new URL("../../fixtures/client/first-opener.fixture.mjs", import.meta.url));
const OPENERS = fileURLToPath(new URL("../../fixtures/client/openers.fixture.mjs", import.meta.url));
const ROUNDS = 10;

class Opener {
  readonly child: ChildProcess = spawn(process.execPath, [OPENERS], { stdio: ["pipe", "pipe", "ignore"] });
  readonly #lines = linesOf(this.child);

  async open(root: string, store?: string): Promise<Readonly<Record<string, unknown>>> {
    this.child.stdin?.write(`${JSON.stringify({ root, store })}\n`);
    return JSON.parse((await this.#lines.next()).value ?? "{}");
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL");
  }
}

describe.each(["sqlite", "file"])("the first opener of a %s store", (kind) => {
  const config = kind === "file" ? { store: "file:locks" } : undefined;

  it("killed before any step leaves a workspace that opens", async () => {
    using folder = new Folder();
    using next = new Opener();
    for (let at = 1; ; at += 1) {
      const root = folder.repository(`r${at}`);
      if (config !== undefined) folder.write(`r${at}/holdfast.config.json`, config);
      const first = spawn(process.execPath, [OPENER, root, String(at), "before"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const { stdout } = await ended(first);
      const url = kind === "file" ? `file:${join(root, "locks")}` : `sqlite:${join(root, ".holdfast", "holdfast.db")}`;
      expect(await next.open(root)).toEqual({ store: url, granted: true });
      expect(folder.record(root).store).toMatchObject({ id: expect.stringMatching(/./), first: true });
      expect(await next.open(root)).toEqual({ store: url, granted: false });
      if (stdout !== "") {
        expect(at).toBeGreaterThan(5);
        break;
      }
    }
  });
});

// kills: first-record-wins
it("of two first openers with different stores one wins, and the other is refused by name", async () => {
  using folder = new Folder();
  using one = new Opener();
  using two = new Opener();
  const won = { one: 0, two: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const root = folder.make(`w${round}`);
    const stores = ["a", "b"].map((name) => `file:${folder.at(`${name}${round}`)}`);
    const outcomes = await Promise.all([one.open(root, stores[0]), two.open(root, stores[1])]);
    const granted = outcomes.filter((outcome) => outcome.granted === true);
    const refused = outcomes.filter(({ code }) => code === "E_CONFIG");
    expect([granted.length, refused.length], JSON.stringify(outcomes)).toEqual([1, 1]);
    expect(refused[0]?.details).toMatchObject({ reason: "other_store", recorded: granted[0]?.store });
    expect(`file:${folder.at(`${granted[0] === outcomes[0] ? "a" : "b"}${round}`)}`).toBe(granted[0]?.store);
    won[granted[0] === outcomes[0] ? "one" : "two"] += 1;
  }
  expect(won.one + won.two).toBe(ROUNDS);
});

it("of two first openers of one store one is granted the key, and the other is refused", async () => {
  using folder = new Folder();
  using one = new Opener();
  using two = new Opener();
  for (let round = 0; round < ROUNDS; round += 1) {
    const root = folder.make(`w${round}`);
    const outcomes = await Promise.all([one.open(root), two.open(root)]);
    expect(outcomes.map(({ granted }) => granted).sort(), JSON.stringify(outcomes)).toEqual([false, true]);
    expect(existsSync(join(root, ".holdfast", "workspace.json"))).toBe(true);
  }
});
