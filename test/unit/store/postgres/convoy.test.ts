import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createConvoy, type Route, type Shared } from "../../../../src/store/postgres/locks/convoy.js";

interface Item {
  readonly name: string;
  readonly tree: string;
  readonly kind?: string;
}

/** As long as they wait for one that hangs. */
const MOMENT_MS = 3;

/** A server that answers when it is told to, and a list of what was sent to it. Calls of another kind are under way too. */
function scene(shared: (items: readonly Item[]) => Shared<string> = doAll, otherCalls = 9) {
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const answered = () => new Promise<void>((resolve) => answers.push(resolve));
  const route: Route<Item, string> = {
    fits: (first, other) => first.kind === other.kind,
    treeOf: ({ tree }) => tree,
    async send(items) {
      sent.push(items.map(({ name }) => name).join("+"));
      await answered();
      return shared(items);
    },
    async alone({ name }, again) {
      sent.push(again ? `${name} again` : name);
      await answered();
      return `${name} alone`;
    },
  };
  const go = createConvoy(route, { calls: otherCalls });
  const answerNext = async () => {
    answers.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  const start = (name: string, tree = name, kind = "x") => {
    const told = go({ name, tree, kind });
    told.catch(() => undefined);
    return told;
  };
  return { sent, start, answerNext };
}

const doAll = (items: readonly Item[]): Shared<string> => ({
  told: items.map(({ name }) => `${name} shared`),
  again: false,
});

// A machine that stands still for a moment would make them out of patience.
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("calls that can share a statement", () => {
  // kills: postgres-each-few
  it("go each as it comes while there are few, whatever they are for", async () => {
    const { sent, start, answerNext } = scene(doAll, 1);
    for (const name of ["a", "b", "c", "d", "e"]) start(name);
    expect(sent).toEqual(["a", "b", "c"]);
    for (let answered = 0; answered < 3; answered += 1) await answerNext();
    expect(sent).toEqual(["a", "b", "c", "d+e"]);
    await answerNext();
    for (const name of ["f", "g", "h"]) start(name);
    expect(sent).toEqual(["a", "b", "c", "d+e", "f", "g", "h"]);
  });

  it("go alone and at once while few are under way, and together after that", async () => {
    const { sent, start, answerNext } = scene();
    const told = ["a", "b", "c", "d", "e"].map((name) => start(name));
    expect(sent).toEqual(["a", "b"]);
    await answerNext();
    expect(sent).toEqual(["a", "b", "c+d+e"]);
    await answerNext();
    await answerNext();
    expect(await Promise.all(told)).toEqual(["a alone", "b alone", "c shared", "d shared", "e shared"]);
  });

  it("have a tree each, and are of one kind", async () => {
    const { sent, start, answerNext } = scene();
    for (const [name, tree, kind] of [["a"], ["b"], ["c", "t"], ["d", "t"], ["e", "e", "y"], ["f"]] as const)
      start(name, tree, kind);
    await answerNext();
    expect(sent).toEqual(["a", "b", "c+f"]);
    await answerNext();
    await answerNext();
    expect(sent).toEqual(["a", "b", "c+f", "d", "e"]);
  });

  // kills: postgres-each-patience
  it("wait for one that hangs no longer than a moment", async () => {
    const { sent, start } = scene();
    for (const name of ["a", "b", "c", "d"]) start(name);
    await vi.advanceTimersByTimeAsync(MOMENT_MS);
    expect(sent).toEqual(["a", "b", "c+d"]);
    // The others hang as well: who comes now does not wait for all of them.
    start("e");
    await vi.advanceTimersByTimeAsync(MOMENT_MS);
    expect(sent).toEqual(["a", "b", "c+d", "e"]);
  });

  it("go on alone when they were left undone, with the word that an earlier try may have done it", async () => {
    const { sent, start, answerNext } = scene(() => ({ told: [undefined, "d shared"], again: true }));
    const told = ["a", "b", "c", "d"].map((name) => start(name));
    await answerNext();
    await answerNext();
    await answerNext();
    expect(sent).toEqual(["a", "b", "c+d", "c again"]);
    await answerNext();
    expect(await Promise.all(told)).toEqual(["a alone", "b alone", "c alone", "d shared"]);
  });

  it("fail together, and hold up nobody after", async () => {
    const { start, answerNext } = scene(() => {
      throw new Error("gone");
    });
    const told = ["a", "b", "c", "d"].map((name) => start(name));
    for (let answered = 0; answered < 3; answered += 1) await answerNext();
    for (const each of told.slice(2)) await expect(each).rejects.toThrow("gone");
    const next = start("e");
    await answerNext();
    expect(await next).toBe("e alone");
  });
});
