import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Ticket } from "../../../src/lock/grant.js";
import { parseKey } from "../../../src/lock/key.js";
import { LineFile } from "../../../src/store/file/line-file.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-line-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NOW = { wallMs: 1_000, bootMs: 1_000, bootId: "boot", machineId: "machine" };

function ticket(number: number, owner = "agent:anna"): Ticket {
  return {
    ticketId: `ticket-${number}`,
    number,
    wants: [{ resource: parseKey("shop"), mode: "write", permits: null }],
    owner,
    holderId: "anna@host#1",
    nonce: "nonce",
    proof: { kind: "none" },
    enteredAt: NOW,
    waitMs: 1_000,
    refreshedAt: NOW,
    upgradeOf: null,
    bid: null,
  };
}

function opened(): { line: LineFile; text: () => string; size: () => number } {
  const path = join(folder, "line.json");
  return { line: new LineFile(path), text: () => readFileSync(path, "utf8"), size: () => statSync(path).size };
}

describe("the line of a file store", () => {
  it("is one JSON list however it grew and shrank, with blanks where there was more", () => {
    const { line, text, size } = opened();
    line.write([ticket(1), ticket(2), ticket(3)]);
    const longest = size();
    line.write([ticket(3)]);
    expect(size()).toBe(longest);
    expect(JSON.parse(text())).toMatchObject([{ n: 3 }]);
    expect(new LineFile(line.path).read()).toEqual([ticket(3)]);
    line.close();
  });

  it("is cut once most of a long one is blank", () => {
    const { line, text, size } = opened();
    line.write(Array.from({ length: 100 }, (_, at) => ticket(at)));
    const longest = size();
    line.write([ticket(7)]);
    expect(size()).toBeLessThan(longest / 10);
    expect(JSON.parse(text())).toMatchObject([{ n: 7 }]);
    line.close();
  });

  it("keeps the places of others as they were written, by whichever version", () => {
    const { line, text } = opened();
    line.write([ticket(1, "agent:jürgen"), ticket(2, 'agent:"],\n[{'), ticket(3)]);
    const theirs = text().replaceAll('"n":', '"newer":true,"n":');
    writeFileSync(line.path, theirs);
    line.write([...line.read(), ticket(4)]);
    expect(text().startsWith(theirs.trimEnd().slice(0, -1))).toBe(true);
    expect(line.read().map(({ owner }) => owner)).toEqual([
      "agent:jürgen",
      'agent:"],\n[{',
      "agent:anna",
      "agent:anna",
    ]);
    line.close();
  });
});
