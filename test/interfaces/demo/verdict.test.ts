import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collectEvidence } from "../../../examples/demo/evidence.mjs";
import { replaceFile, SHARED_FILES } from "../../../examples/demo/shared-files.mjs";
import { judge } from "../../../examples/demo/verdict.mjs";
import { createWorkspace, removeWorkspace, writeNote } from "../../../examples/demo/workspace.mjs";
import { type AuditEntry, type AuditVerdict, type Holdfast, openHoldfast, pathKey } from "../../../src/index.js";

interface Update {
  readonly id: string;
  readonly token: number;
}

interface Evidence {
  readonly acknowledged: readonly { readonly id: string; readonly file: string }[];
  readonly refused: readonly {
    readonly id: string;
    readonly file: string;
    readonly code: string;
    readonly storeCode: string;
    readonly wouldErase: number;
  }[];
  readonly files: readonly {
    readonly name: string;
    readonly updates: readonly Update[];
    readonly problem: string | null;
  }[];
  readonly audit: { readonly verdict: AuditVerdict; readonly entries: readonly AuditEntry[] };
  readonly deeds: {
    readonly kills: readonly { readonly pid: number; readonly at: number }[];
    readonly stops: number;
    readonly crashes: readonly string[];
  };
}

const KILLED = { pid: 77, at: Date.parse("2026-01-01T00:00:01.000Z") };

function entry(
  seq: number,
  event: AuditEntry["event"],
  token: number,
  details: AuditEntry["details"] = {},
): AuditEntry {
  return {
    seq,
    at: "2026-01-01T00:00:01.040Z",
    event,
    resource: "path/board.json",
    owner: "agent:ben",
    holder_id: "host:user:88:1",
    fencing_token: token,
    lock_id: null,
    details,
    prev_hash: "",
    hash: "",
  };
}

const TAKEOVER = entry(2, "stolen", 1, {
  reason: "process_dead",
  evidence: { life: "dead", expired_for_ms: 0 },
  previous: { owner: "agent:ada", metadata: { pid: KILLED.pid } },
});

/** One update acknowledged, one written by a worker that was killed before it could note it, one stale one refused. */
const GOOD: Evidence = {
  acknowledged: [{ id: "ben.88.1", file: "board.json" }],
  refused: [
    { id: "cleo.99.1", file: "board.json", code: "E_LOCK_EXPIRED", storeCode: "E_FENCING_MISMATCH", wouldErase: 3 },
  ],
  files: [
    {
      name: "board.json",
      problem: null,
      updates: [
        { id: "ada.77.1", token: 1 },
        { id: "ben.88.1", token: 2 },
      ],
    },
  ],
  audit: {
    verdict: { ok: true, chains: 1, entries: 3, bad: [] },
    entries: [entry(1, "granted", 1), TAKEOVER, entry(3, "granted", 2)],
  },
  deeds: { kills: [KILLED], stops: 1, crashes: [] },
};

describe("the verdict", () => {
  it("is good when all is well, and tells what was found", () => {
    const { isGood, findings, sentence } = judge(GOOD);
    const found = Object.fromEntries(findings.map(({ name, value, note }) => [name, `${value} ${note}`]));
    expect(isGood).toBe(true);
    expect(sentence).toBe("Holdfast held: 1 kill, 1 freeze, 1 acknowledged update, none lost.");
    expect(found["present in the data"]).toBe("2 1 by a worker killed before noting it");
    expect(found.lost).toBe("0 ");
    expect(found.takeovers).toBe("1 p50 40 ms, max 40 ms (1 killed, 0 run out)");
    expect(found["overwrites prevented"]).toBe("1 3 newer updates would have been erased");
  });

  const [board] = GOOD.files;
  const { audit, deeds } = GOOD;
  it.each<[string, Partial<Evidence>, RegExp]>([
    [
      "an acknowledged update is missing",
      { acknowledged: [...GOOD.acknowledged, { id: "ben.88.2", file: "board.json" }] },
      /1 acknowledged update lost, such as board\.json ben\.88\.2/,
    ],
    [
      "something is in the data that nobody acknowledged",
      {
        files: [
          { name: "board.json", problem: null, updates: [...(board?.updates ?? []), { id: "ben.88.9", token: 3 }] },
        ],
      },
      /1 update in the data that nobody acknowledged/,
    ],
    [
      "an update is there twice",
      {
        files: [{ name: "board.json", problem: null, updates: [1, 2, 3].map((token) => ({ id: "ben.88.1", token })) }],
      },
      /2 updates in the data twice/,
    ],
    [
      "a file does not add up",
      { files: [{ name: "board.json", updates: board?.updates ?? [], problem: "the counter of docs is off" }] },
      /board\.json: the counter of docs is off/,
    ],
    [
      "a refused commit is in the data",
      { refused: GOOD.refused.map((refusal) => ({ ...refusal, id: "ada.77.1" })) },
      /1 refused commit in the data all the same/,
    ],
    ["no stale commit was refused", { refused: [] }, /no stale commit was refused/],
    [
      "nobody took over",
      {
        audit: {
          verdict: { ...audit.verdict, entries: 2 },
          entries: audit.entries.filter((each) => each !== TAKEOVER),
        },
      },
      /nobody took over/,
    ],
    [
      "a living worker was taken for dead",
      { deeds: { ...deeds, kills: [{ pid: 78, at: 0 }] } },
      /1 living worker taken for dead/,
    ],
    ["nobody was killed", { deeds: { ...deeds, kills: [] } }, /nobody was killed/],
    [
      "a worker crashed",
      { deeds: { ...deeds, crashes: ["ada: exit code 1"] } },
      /ended by itself \(ada: exit code 1\)/,
    ],
    [
      "a fencing token went back",
      { audit: { ...audit, entries: [entry(1, "granted", 5), TAKEOVER, entry(3, "granted", 4)] } },
      /a fencing token went back/,
    ],
    [
      "the audit chain is broken",
      {
        audit: { ...audit, verdict: { ...audit.verdict, ok: false, bad: [{ tree: "path", seq: 2, why: "altered" }] } },
      },
      /the audit chain is broken \(entry 2: altered\)/,
    ],
  ])("is bad when %s", (_, change, sentence) => {
    const verdict = judge({ ...GOOD, ...change });
    expect(verdict.isGood).toBe(false);
    expect(verdict.sentence).toMatch(sentence);
  });
});

describe("the evidence", () => {
  let root: string;
  let hf: Holdfast;

  beforeEach(async () => {
    root = createWorkspace();
    hf = await openHoldfast({ root, owner: "agent:ada", heart: "loop" });
    for (const file of SHARED_FILES)
      for (const number of [1, 2, 3])
        await hf.withLock(pathKey(root, file.name), {}, async (lease) => {
          const path = join(root, file.name);
          const id = `ada.${process.pid}.${number}`;
          const text = file.add(readFileSync(path, "utf8"), { id, token: lease.fencingToken });
          await lease.commit(() => replaceFile(path, text));
          writeNote(root, "acknowledged", { id, file: file.name });
        });
  });

  afterEach(async () => {
    await hf.close();
    removeWorkspace(root);
  });

  const nothingDone = { kills: [], stops: 0, crashes: [] };
  const failuresOf = (evidence: Evidence, names: readonly string[]): (string | null)[] =>
    names.map((name) => judge(evidence).findings.find((finding) => finding.name === name)?.failure ?? null);
  const ABOUT_DATA = ["present in the data", "lost", "sums right in files", "fencing tokens", "audit chain"];

  it("is clean for files written under the lock", async () => {
    const evidence = await collectEvidence(root, hf, nothingDone);
    expect(evidence.acknowledged).toHaveLength(6);
    expect(failuresOf(evidence, ABOUT_DATA)).toEqual([null, null, null, null, null]);
  });

  it("shows an update that was overwritten, in a file that still looks well", async () => {
    const [board] = SHARED_FILES;
    if (board === undefined) throw new Error("there is a board");
    const kept = board.read(readFileSync(join(root, board.name), "utf8")).updates.slice(1);
    writeFileSync(
      join(root, board.name),
      kept.reduce((text: string, update: Update) => board.add(text, update), board.empty),
    );
    const evidence = await collectEvidence(root, hf, nothingDone);
    expect(failuresOf(evidence, ["lost", "sums right in files"])).toEqual([
      `1 acknowledged update lost, such as board.json ada.${process.pid}.1`,
      null,
    ]);
  });

  it("shows a ledger whose balance was tampered with, and a board that is no JSON any more", async () => {
    const ledger = readFileSync(join(root, "ledger.txt"), "utf8");
    writeFileSync(
      join(root, "ledger.txt"),
      ledger.replace(/(\d+)\n/, (_, balance) => `${Number(balance) + 1}\n`),
    );
    writeFileSync(join(root, "board.json"), "{");
    const evidence = await collectEvidence(root, hf, nothingDone);
    expect(judge(evidence).sentence).toMatch(/ledger\.txt: the balance is off at line 1/);
    expect(judge(evidence).sentence).toMatch(/board\.json: it cannot be read/);
    expect(judge(evidence).sentence).toMatch(/3 acknowledged updates lost/);
  });
});
