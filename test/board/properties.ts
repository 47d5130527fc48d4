/** Any sequence of operations, by three clients at once: the three properties of a board that many write. */
import fc from "fast-check";
import { expect } from "vitest";
import type { Board } from "../../src/board/board.js";
import { isHoldfastError } from "../../src/support/errors.js";
import { expectSoundBoard, newPlace } from "./crowd.js";

type Operation =
  | { readonly kind: "add"; readonly by: number; readonly on: number }
  | { readonly kind: "label" | "close" | "claim"; readonly by: number; readonly id: number }
  | { readonly kind: "depend" | "undepend"; readonly by: number; readonly id: number; readonly on: number };

const client = fc.nat(2);
const issue = fc.integer({ min: 1, max: 6 });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant("add" as const), by: client, on: issue }),
  fc.record({ kind: fc.constantFrom("label" as const, "close" as const, "claim" as const), by: client, id: issue }),
  fc.record({
    kind: fc.constantFrom("depend" as const, "depend" as const, "undepend" as const),
    by: client,
    id: issue,
    on: issue,
  }),
);

/** Lists of operations; those of one list are begun together. */
export const histories = fc.array(fc.array(operation, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 5 });

export async function keepsItsProperties(rounds: readonly (readonly Operation[])[]): Promise<void> {
  await using place = await newPlace();
  const boards: Board[] = [place.board];
  for (const owner of ["agent:two", "agent:three"]) boards.push((await place.open(owner)).board);
  for (let at = 0; at < 3; at += 1) await place.board.add({ title: `given ${at}` });
  const saved: ((issues: ReadonlyMap<string, { labels: readonly string[] }>) => void)[] = [];
  for (const [round, operations] of rounds.entries()) {
    await Promise.all(
      operations.map((each, at) => perform(boards[each.by] ?? place.board, each, `r${round}-${at}`, saved)),
    );
    await expectSoundBoard(place.board);
  }
  const issues = new Map((await expectSoundBoard(place.board)).map((each) => [each.id, each]));
  for (const isVisible of saved) isVisible(issues);
}

async function perform(
  board: Board,
  each: Operation,
  name: string,
  saved: ((issues: ReadonlyMap<string, { labels: readonly string[] }>) => void)[],
): Promise<void> {
  try {
    switch (each.kind) {
      case "add": {
        const { id } = await board.add({ title: name, dependencies: [String(each.on)] });
        saved.push((issues) => expect(issues.has(id), `issue ${id}`).toBe(true));
        break;
      }
      case "label": {
        await board.update(String(each.id), { addLabels: [name] });
        saved.push((issues) => expect(issues.get(String(each.id))?.labels).toContain(name));
        break;
      }
      case "close":
        await board.close(String(each.id));
        break;
      case "claim": {
        const { token } = await board.claim(String(each.id));
        await board.update(String(each.id), { addLabels: [name] }, { token });
        await board.release(String(each.id), { token });
        saved.push((issues) => expect(issues.get(String(each.id))?.labels).toContain(name));
        break;
      }
      case "depend":
        await board.addDependency(String(each.id), String(each.on));
        break;
      case "undepend":
        await board.removeDependency(String(each.id), String(each.on));
    }
  } catch (error) {
    const expected = ["E_NOT_FOUND", "E_CYCLE", "E_GATE_BLOCKED", "E_LOCK_CONFLICT"] as const;
    if (!expected.some((code) => isHoldfastError(error, code))) throw error;
  }
}
