import { describe, expect, it } from "vitest";
import type { Key } from "../../../../src/lock/key.js";
import { openStoreForReading } from "../../../../src/store/open.js";
import {
  clockOf,
  newPlace,
  open,
  openRaw,
  pairs,
  type RawDatabase,
  verify,
} from "../../../fixtures/sqlite/database.fixture.js";

/** Enough for several blocks and a tail of several entries. */
const PAIRS = 30;

interface Block {
  readonly first_seq: number;
  readonly entries: string;
}

const blocksOf = (raw: RawDatabase) =>
  raw.prepare("SELECT first_seq, entries FROM audit ORDER BY first_seq").all() as unknown as Block[];
const tailOf = (raw: RawDatabase) =>
  raw.prepare("SELECT tail_seq AS first_seq, tail AS entries FROM trees").get() as unknown as Block;

function editBlock(raw: RawDatabase, number: number, edit: (lines: string[]) => void): number {
  const block = blocksOf(raw)[number];
  if (block === undefined) throw new RangeError(`there is no block ${number}`);
  const lines = linesOf(block);
  edit(lines);
  raw.prepare("UPDATE audit SET entries = ? WHERE first_seq = ?").run(textOf(lines), block.first_seq);
  return block.first_seq;
}

function editTail(raw: RawDatabase, edit: (lines: string[]) => void): number {
  const tail = tailOf(raw);
  const lines = linesOf(tail);
  edit(lines);
  raw.prepare("UPDATE trees SET tail = ?").run(textOf(lines));
  return tail.first_seq;
}

const linesOf = ({ entries }: Block) => entries.trimEnd().split("\n");
const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
const replaced = (lines: string[], at: number, from: string | RegExp, to: string) => {
  const line = lines.at(at) ?? "";
  expect(line).toMatch(from);
  lines.splice(at, 1, line.replace(from, to));
};
const swapped = (lines: string[], at: number) => lines.splice(at, 2, ...lines.slice(at, at + 2).reverse());

/** Each does its harm and returns the number of the first entry that is not as it was. */
const HARM: Record<string, (raw: RawDatabase) => number> = {
  "an edited event": (raw) => editBlock(raw, 1, (lines) => replaced(lines, 3, /"(granted|released)"/, '"broken"')) + 3,
  "an edited time": (raw) => editBlock(raw, 0, (lines) => replaced(lines, 0, /^\[1/, "[2")),
  "an edited detail": (raw) => editBlock(raw, 2, (lines) => replaced(lines, 1, /\{.*\}/, '{"renewals":7}')) + 1,
  "an edited token": (raw) => editTail(raw, (lines) => replaced(lines, 0, /,1[0-9]{15},/, ",1,")),
  "an owner put in where none was written": (raw) =>
    editBlock(raw, 1, (lines) => replaced(lines, 2, ",0,0,0,", ',0,"user:eve",0,')) + 2,
  "the same owner put in where none was written": (raw) =>
    editBlock(raw, 1, (lines) => replaced(lines, 2, ",0,0,0,", ',0,"agent:a",0,')) + 2,
  "blanks put in": (raw) => editTail(raw, (lines) => replaced(lines, 1, ",", ", ")) + 1,
  "an edited hash": (raw) =>
    editBlock(raw, 0, (lines) => replaced(lines, 4, /"[0-9a-f]{64}"\]$/, `"${"0".repeat(64)}"]`)) + 4,
  "an edited link between blocks": (raw) =>
    editBlock(raw, 1, (lines) => replaced(lines, 0, /"[0-9a-f]{64}"\]$/, `"${"0".repeat(64)}"]`)),
  "an entry deleted in a block": (raw) => editBlock(raw, 1, (lines) => lines.splice(2, 1)) + 2,
  "the first entry of a block deleted": (raw) => editBlock(raw, 1, (lines) => lines.splice(0, 1)),
  "the last entry of a block deleted": (raw) => {
    let left = 0;
    return editBlock(raw, 1, (lines) => (left = lines.splice(-1, 1) && lines.length)) + left;
  },
  "an entry deleted in the tail": (raw) => editTail(raw, (lines) => lines.splice(1, 1)) + 1,
  "entries swapped": (raw) => editBlock(raw, 0, (lines) => swapped(lines, 5)) + 5,
  "entries swapped in the tail": (raw) => editTail(raw, (lines) => swapped(lines, 1)) + 1,
  "a line that is no entry": (raw) => editBlock(raw, 2, (lines) => lines.splice(2, 1, "[null")) + 2,
  "an entry twice": (raw) => editBlock(raw, 1, (lines) => lines.splice(3, 0, lines[3] ?? "")) + 4,
  "a whole block deleted": (raw) => {
    const seq = blocksOf(raw)[1]?.first_seq ?? 0;
    raw.prepare("DELETE FROM audit WHERE first_seq = ?").run(seq);
    return seq;
  },
  "all blocks deleted": (raw) => {
    raw.exec("DELETE FROM audit");
    return 1;
  },
  "blocks swapped": (raw) => {
    const [, one, other] = blocksOf(raw);
    if (one === undefined || other === undefined) throw new RangeError("there are not enough blocks");
    const write = raw.prepare("UPDATE audit SET entries = ? WHERE first_seq = ?");
    write.run(other.entries, one.first_seq);
    write.run(one.entries, other.first_seq);
    return one.first_seq;
  },
  "a block moved to another number": (raw) => {
    const seq = blocksOf(raw)[1]?.first_seq ?? 0;
    raw.prepare("UPDATE audit SET first_seq = first_seq + 1 WHERE first_seq = ?").run(seq);
    return seq;
  },
  "a cut tail": (raw) => {
    let left = 0;
    return editTail(raw, (lines) => (left = lines.splice(-1, 1) && lines.length)) + left;
  },
  "the whole tail cut": (raw) => {
    const { first_seq } = tailOf(raw);
    raw.exec("UPDATE trees SET tail = ''");
    return first_seq;
  },
  "a forged entry at the end": (raw) => {
    editTail(raw, (lines) => lines.push(lines.at(-1) ?? ""));
    return 2 * PAIRS + 1;
  },
  "a head with another hash": (raw) => {
    raw.exec(`UPDATE trees SET audit_hash = '${"0".repeat(64)}'`);
    return 2 * PAIRS + 1;
  },
  "a head with a lower number": (raw) => {
    raw.exec("UPDATE trees SET audit_seq = audit_seq - 2");
    return 2 * PAIRS - 1;
  },
  "a head that is gone": (raw) => {
    raw.exec("DELETE FROM trees");
    return 1;
  },
};

describe("AUDIT-2: an audit trail that was tampered with", () => {
  it.each(Object.entries(HARM))("%s is found and named", async (_, harm) => {
    const place = newPlace();
    await pairs(await open(place), "tree", PAIRS);
    expect(await verify(await open(place), "tree")).toMatchObject({ ok: true, entries: 2 * PAIRS });
    const raw = openRaw(place);
    expect(blocksOf(raw).length).toBeGreaterThan(3);
    expect(linesOf(tailOf(raw)).length).toBeGreaterThan(2);
    const seq = harm(raw);
    const store = await open(place);
    const found = { ok: false, entries: seq - 1, bad: [{ tree: "tree", seq }] };
    expect(await verify(store, "tree")).toMatchObject(found);
    expect(await store.reader.verifyAudit(null)).toMatchObject(found);
  });

  it("a block that cannot be read is shown as a damaged entry, and the blocks behind it as they are", async () => {
    const place = newPlace();
    const store = await open(place);
    await pairs(store, "tree", PAIRS);
    openRaw(place).exec("UPDATE audit SET entries = 'torn' WHERE first_seq = 1");
    const [first, second] = await store.reader.audit({ tree: "tree" as never, afterSeq: 0, limit: 10 });
    expect(first).toMatchObject({ seq: 1, event: "damaged", details: { line: "torn" } });
    expect(second).toMatchObject({ seq: blocksOf(openRaw(place))[1]?.first_seq, resource: "tree" });
    expect(second?.event).not.toBe("damaged");
  });

  // kills: damaged-entry
  it("a line of other fields is a damaged entry, and so is one that repeats the fields of it", async () => {
    const place = newPlace();
    const store = await open(place);
    await pairs(store, "tree", PAIRS);
    const raw = openRaw(place);
    editBlock(raw, 0, (lines) => lines.splice(1, 1, "{}"));
    editBlock(raw, 1, (lines) => lines.splice(1, 1, "[1e300,7,{},[],null,-1,true,null,0]"));
    const entries = await store.reader.audit({ tree: "tree" as never, afterSeq: 0, limit: 1_000 });
    expect(entries).toHaveLength(2 * PAIRS);
    const damaged = entries.filter(({ event }) => event === "damaged").map(({ seq }) => seq);
    const [first = 0, second = 0] = blocksOf(raw).map(({ first_seq }) => first_seq);
    expect(damaged).toEqual(expect.arrayContaining([first + 1, first + 2, second + 1]));
    expect(entries.find(({ seq }) => seq === first)?.event).toBe("granted");
    expect(entries.at(-1)?.event).toBe("released");
  });
});

describe("a database whose tables are not those of a store", () => {
  // kills: sqlite-schema, sqlite-tables (boots)
  it.each(["boots", "dal_locks", "settings"])("is refused by name when %s is missing", async (table) => {
    const place = newPlace();
    await (await open(place)).close();
    const raw = openRaw(place);
    raw.exec(`DROP TABLE ${table}`);
    raw.close();
    const named = { code: "E_STORE_CORRUPT", message: expect.stringContaining(place) };
    await expect(open(place)).rejects.toMatchObject(named);
    const read = async () => {
      const store = await openStoreForReading(`sqlite:${place}`, {}, clockOf("this boot"));
      await store?.reader.list({ prefix: null, after: null, limit: 1 });
      await store?.reader.inspect("k" as Key);
    };
    await expect(read()).rejects.toMatchObject(named);
  });
});
