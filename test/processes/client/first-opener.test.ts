/** The first openers of a workspace, killed at every third step and racing one another: one store is recorded, and all mean it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Opener, testKilledOpeners } from "../../fixtures/client/first-openers.fixture.js";
import { Folder } from "../../fixtures/client/folder.fixture.js";

const ROUNDS = 10;

describe.each(["sqlite", "file"] as const)("the first opener of a %s store", (kind) => testKilledOpeners(kind, 3));

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
