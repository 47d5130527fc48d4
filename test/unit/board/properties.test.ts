import fc from "fast-check";
import { expect, it } from "vitest";
import { requireAcyclic, requireNoCycle } from "../../../src/features/board/dependencies.js";
import { histories, keepsItsProperties } from "../../fixtures/board/properties.fixture.js";

it("BOARD-2 any sequence at once: no index corruption, no cycle, every successful save visible", {
  timeout: 300_000,
}, async () => {
  await fc.assert(fc.asyncProperty(histories, keepsItsProperties), { numRuns: 6, seed: 6 }); // The soak has others.
});

it("BOARD-3 a dependency is refused exactly when it would close a cycle", () => {
  const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 40 });
  fc.assert(
    fc.property(edges, (wanted) => {
      const graph = new Map<string, string[]>();
      const dependenciesOf = (id: string): readonly string[] => graph.get(id) ?? [];
      const isSound = (): boolean => {
        try {
          requireAcyclic(graph.keys(), dependenciesOf);
          return true;
        } catch {
          return false;
        }
      };
      for (const [from, to] of wanted.map(([a, b]) => [String(a), String(b)] as const)) {
        const before = graph.get(from) ?? [];
        let refused = false;
        try {
          requireNoCycle(from, to, dependenciesOf);
        } catch {
          refused = true;
        }
        graph.set(from, [...before, to]);
        expect(isSound()).toBe(!refused);
        if (refused) graph.set(from, before);
      }
    }),
  );
});
