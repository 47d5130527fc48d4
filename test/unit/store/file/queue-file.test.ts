import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Ticket } from "../../../../src/lock/grant.js";
import { parseKey } from "../../../../src/lock/key.js";
import { byNumber } from "../../../../src/lock/queue.js";
import { LineFile, parsePlaces } from "../../../../src/store/file/tree/queue-file.js";
import { fc } from "../../../fixtures/fast-check.fixture.js";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-line-"));
  path = join(folder, "line.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function ticket(number: number, owner = "agent:anna", bootMs = 1_000): Ticket {
  const now = { wallMs: 1_000, bootMs, bootId: "boot", machineId: "machine" };
  return {
    ticketId: `ticket-${number}`,
    number,
    wants: [{ resource: parseKey("shop"), mode: "write", permits: null }],
    owner,
    holderId: "anna@host#1",
    nonce: "nonce",
    proof: { kind: "none" },
    enteredAt: now,
    waitMs: 1_000,
    refreshedAt: now,
    upgradeOf: null,
    bid: null,
  };
}

const tickets = (count: number): Ticket[] => Array.from({ length: count }, (_, at) => ticket(at + 1));
const text = (): string => readFileSync(path, "utf8");
const size = (): number => statSync(path).size;
/** As another process finds it. */
const found = (): Ticket[] => withLine((line) => [...line.read()]);

function withLine<T>(use: (line: LineFile) => T): T {
  const line = new LineFile(path, parseKey("shop"));
  try {
    return use(line);
  } finally {
    line.close();
  }
}

function change(drops: readonly Ticket[], puts: readonly Ticket[]): void {
  withLine((line) => {
    line.read();
    const isDropped = ({ ticketId }: Ticket): boolean => drops.some((each) => each.ticketId === ticketId);
    const isNew = (each: Ticket): boolean => isDropped(each) || line.find(each.ticketId) === null;
    const updates = puts.filter((each) => !isNew(each));
    line.change(drops, puts.filter(isNew), updates);
  });
}

function blank(bytes: Buffer, { ticketId }: Ticket): void {
  bytes.write(" ", bytes.indexOf(`{"id":"${ticketId}"`));
}

/** The file is as it is now up to anywhere, and from there on as it was before, with all who are left. */
function expectWholeWhereverTorn(before: Buffer, left: readonly Ticket[]): void {
  const after = readFileSync(path);
  expect(after.equals(before)).toBe(false);
  for (let at = 0; at <= after.length; at += 256) {
    writeFileSync(path, Buffer.concat([after.subarray(0, at), before.subarray(at)]));
    const places = found();
    expect(left.filter((each) => !places.some(({ ticketId }) => ticketId === each.ticketId)).length).toBeLessThan(2);
    expect(places).toEqual([...new Set(places)].sort(byNumber));
    withLine((line) => {
      line.read();
      for (const each of places) expect(line.find(each.ticketId)).toEqual(each);
    });
    change(places, []);
    expect(found()).toEqual([]);
  }
}

describe("the line of a file store", () => {
  it("LOCK-12: has whoever came, in the order of numbers, without whoever left", () => {
    change([], tickets(3));
    change([ticket(2)], [ticket(4)]);
    expect(found()).toEqual([ticket(1), ticket(3), ticket(4)]);
    expect(parsePlaces(text())).toEqual(found());
    withLine((line) => {
      line.read();
      expect([line.isEmpty, line.countTo(9), line.nextNumber]).toEqual([false, 3, 5]);
      expect([line.find("ticket-3"), line.find("ticket-2"), line.find("ticket")]).toEqual([ticket(3), null, null]);
    });
    change(found(), []);
    withLine((line) => {
      line.read();
      expect([line.isEmpty, line.countTo(9), line.nextNumber, [...line]]).toEqual([true, 0, 1, []]);
    });
  });

  it("LOCK-9: an upgrade goes to the head", () => {
    change([], tickets(2));
    change([], [ticket(0)]);
    expect(found().map(({ number }) => number)).toEqual([0, 1, 2]);
  });

  it("LOCK-12: a place is refreshed where it stands, also when it needs more room for it", () => {
    change([], tickets(3));
    const before = text();
    const later = ticket(2, "agent:anna", 123_456.789);
    change([], [later]);
    expect(found()).toEqual([ticket(1), later, ticket(3)]);
    expect(text().length).toBe(before.length);
    const longer = ticket(2, `agent:${"a".repeat(500)}`);
    change([], [longer]);
    expect(found()).toEqual([ticket(1), longer, ticket(3)]);
  });

  it("is not much longer than those who wait, however many came and left", () => {
    change([], tickets(5));
    const longest = 3 * size() + 8_192;
    for (let number = 6; number < 500; number += 1) {
      change([ticket(number - 5)], [ticket(number)]);
      expect(size()).toBeLessThan(longest);
    }
    expect(found().map(({ number }) => number)).toEqual([495, 496, 497, 498, 499]);
  });

  // kills: line-behind-one-who-stays
  it("is not much longer than those who wait, also when the first of them stays while others come and leave", () => {
    change([], tickets(5));
    const longest = 3 * size() + 16_384;
    for (let number = 6; number < 500; number += 1) {
      change([ticket(number === 6 ? 5 : number - 1)], [ticket(number)]);
      expect(size()).toBeLessThan(longest);
    }
    expect(found().map(({ number }) => number)).toEqual([1, 2, 3, 4, 499]);
  });

  it("is cut when most of very many have left", () => {
    const many = tickets(1_000);
    change([], many);
    const longest = size();
    change(many.slice(0, -1), []);
    expect(size()).toBeLessThan(longest / 10);
    expect(found()).toEqual(many.slice(-1));
  });

  it("keeps the places of others as they were written, by whichever version", () => {
    change([], [ticket(1, "agent:jürgen"), ticket(2, 'agent:"},\n{'), ticket(3)]);
    writeFileSync(path, text().replaceAll('"n":', '"newer":true,"n":'));
    const theirs = text();
    change([], [ticket(4)]);
    expect(text().startsWith(theirs)).toBe(true);
    expect(found().map(({ owner }) => owner)).toEqual(["agent:jürgen", 'agent:"},\n{', "agent:anna", "agent:anna"]);
  });

  it("LOCK-12: cut off anywhere it has the places before that, and whoever comes is behind them", () => {
    change([], tickets(3));
    const whole = readFileSync(path);
    for (let length = 0; length < whole.length; length += 7) {
      writeFileSync(path, whole.subarray(0, length));
      const left = found();
      expect(left).toEqual(tickets(left.length));
      change([], [ticket(9)]);
      expect(found()).toEqual([...left, ticket(9)]);
    }
  });

  // kills: place-of-two-pieces
  it("LOCK-12: pieces of two places are none", () => {
    change([], tickets(2));
    const [, one = "", two = ""] = text().split("\n");
    expect(one.length).toBe(two.length);
    for (let at = one.indexOf(","); at > 0; at = one.indexOf(",", at + 1)) {
      writeFileSync(path, `\n${one.slice(0, at)}${two.slice(at)}\n`);
      expect(found()).toEqual([]);
    }
  });

  // kills: place-twice, place-out-of-turn, place-behind-its-piece
  it("LOCK-12: a crash while it moves up loses at most one place, and leaves none twice once it is given up", () => {
    const many = tickets(60);
    change([], many);
    const gone = many.slice(0, 40);
    const before = readFileSync(path);
    for (const each of gone) blank(before, each);
    change(gone, []);
    expectWholeWhereverTorn(before, many.slice(40));
  });

  it("LOCK-12: so does a crash while it closes up behind those who stay", () => {
    const stays = ({ number }: Ticket): boolean => number % 10 === 1;
    change([], tickets(1));
    for (let number = 2; ; number += 1) {
      const gone = [ticket(number - 1)].filter((each) => !stays(each));
      const before = readFileSync(path);
      for (const each of gone) blank(before, each);
      change(gone, [ticket(number)]);
      if (text().includes('"ticket-2"')) continue;
      const place = text()
        .slice(text().indexOf(`{"id":"ticket-${number}"`))
        .trimEnd();
      expectWholeWhereverTorn(
        Buffer.concat([before, Buffer.from(`${place}\n`)]),
        tickets(number).filter((each) => stays(each) || each.number === number),
      );
      return;
    }
  });

  // kills: place-hides-others
  it("a ticket that is written again under another number hides no other", () => {
    change([], tickets(3));
    const again = { ...ticket(2), number: 4 };
    change([], [again]);
    expect(found()).toEqual([ticket(1), ticket(3), again]);
  });

  it.each([
    ["a whole place", [ticket(2)], 3, (line: string) => line],
    // It is no place, and nobody looks for it: it goes when the file is next moved together.
    ["a piece of one", [], 4, (line: string) => line.replace('"end":"ticket-2"', '"end":"ticket-9"')],
  ])(
    "LOCK-12: whoever takes a new place leaves %s that was there before, and hides nobody",
    (_, drops, length, left) => {
      change([], tickets(3));
      writeFileSync(path, left(text()));
      const again = { ...ticket(2), number: 4 };
      change(drops, [again]);
      expect(found()).toEqual([ticket(1), ticket(3), again]);
      expect(withLine((line) => line.read().countTo(9))).toBe(length);
    },
  );

  it("has nobody once all have left, also when a crash left a piece of a place behind them", () => {
    change([], tickets(1));
    appendFileSync(path, '{"id":"ticket-2","proof":{"kind":"none"},');
    change(tickets(1), []);
    withLine((line) => {
      line.read();
      expect([line.isEmpty, line.countTo(9), line.nextNumber]).toEqual([true, 0, 1]);
    });
  });

  // kills: line-kept-elsewhere
  it("LOCK-12: is the file that has its name, also when the one before was kept elsewhere", () => {
    withLine((line) => {
      line.read();
      line.change([], tickets(1), []);
      renameSync(path, `${path}.kept`);
      change([], [ticket(7)]);
      expect([...line.read()]).toEqual([ticket(7)]);
    });
  });

  it("LOCK-12: says the same as a list, whatever is done to it", () => {
    const anyStep = fc.record({ drop: fc.integer({ min: 0, max: 3 }), put: fc.integer({ min: 0, max: 3 }) });
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
        rmSync(path, { force: true });
        let list: Ticket[] = [];
        let next = 1;
        withLine((line) => {
          for (const { drop, put } of steps) {
            line.read();
            const drops = list.slice(put % 2, (put % 2) + drop);
            const puts = Array.from({ length: put }, () => ticket(next++));
            const stay = list.filter((each) => !drops.includes(each));
            const updates = stay
              .filter((_, at) => at % 3 === drop)
              .map((each) => ({ ...each, waitMs: each.waitMs * 7 }));
            list = [...stay.map((each) => updates.find(({ number }) => number === each.number) ?? each), ...puts];
            line.change(drops, puts, updates);
            expect([...line]).toEqual(list);
          }
        });
        if (steps.length > 0) expect(found()).toEqual(list);
      }),
      { numRuns: 30 },
    );
  });
});
