import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CHECKS } from "../../../src/apps/doctor/examine.js";
import { FINDINGS } from "../../../src/apps/doctor/finding.js";
import { openTokenFiles } from "../../../src/client/workspace/token-files.js";
import { tokenFolder } from "../../../src/client/workspace/token-folder.js";
import { isHoldfastError } from "../../../src/index.js";
import { openWorktrees } from "../../../src/worktree.js";
import { canMount } from "../../fixtures/can-mount.fixture.js";
import { page } from "../../fixtures/pages.fixture.js";
import { boardOf, changeUnfinished } from "./damaged-board.fixture.js";
import { KINDS, type Kind, Ward } from "./damaged-workspace.fixture.js";

const HOLDER = fileURLToPath(new URL("../../../dist/apps/selftest/selftest.process.js", import.meta.url));
const PUBLISHER = fileURLToPath(new URL("../../fixtures/publish/unfinished-publisher.fixture.mjs", import.meta.url));
const DETACHED = { detached: true, ttl: "1h" } as const;

/** A process that holds a key and was killed. */
async function killedHolder(ward: Ward, key: string): Promise<void> {
  await killedOnceItSpoke(HOLDER, ward.url, key, join(ward.root, "elsewhere"));
  rmSync(join(ward.root, "elsewhere"), { recursive: true });
}

async function killedOnceItSpoke(program: string, ...words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [program, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  // A program that ends itself may be gone before its words are read.
  const ended = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), ended]);
  child.kill("SIGKILL");
  await ended;
}

/** Over the last page of a database. */
function scribble(path: string): void {
  const fd = openSync(path, "r+");
  writeSync(fd, Buffer.alloc(1_900, 0xff), 0, 1_900, statSync(path).size - 2_000);
  closeSync(fd);
}

/** The troubles, each with the code it is found under. */
const TROUBLES: Readonly<Record<string, (ward: Ward) => Promise<void>>> = {
  async RECORD_UNREADABLE(ward) {
    await ward.use((one) => one.acquire("t/x", DETACHED));
    ward.spoil("t/x", "unreadable");
  },
  async RECORD_NEWER(ward) {
    await ward.use((one) => one.acquire("t/x", DETACHED));
    ward.spoil("t/x", "newer");
  },
  GRANT_RECOVERABLE: (ward) => killedHolder(ward, "t/x"),
  async PROOF_ORPHAN(ward) {
    await ward.use((one) => one.acquire("t/x", DETACHED));
    mkdirSync(join(ward.home, "alive"), { recursive: true });
    writeFileSync(join(ward.home, "alive", "ab".repeat(12)), "left by a process that died");
  },
  async AUDIT_BROKEN(ward) {
    await ward.use(async (one) => (await one.acquire("t")).release());
    if (ward.kind === "file") ward.change("locks/t/audit.jsonl", (text) => text.replace("agent:one", "agent:two"));
    else ward.sql("UPDATE trees SET tail = replace(tail, 'agent:one', 'agent:two')");
  },
  async STORE_NEWER(ward) {
    await ward.use((one) => one.inspect("t"));
    if (ward.kind === "sqlite") ward.sql("PRAGMA user_version = 99");
    else ward.change("store.json", (text) => text.replace('"schema_version":1', '"schema_version":99'));
  },
  async STORE_UNREADABLE(ward) {
    await ward.use((one) => one.inspect("t"));
    const name = ward.kind === "sqlite" ? "holdfast.db" : "store.json";
    writeFileSync(join(ward.home, name), "neither a database nor JSON".repeat(100));
  },
  async DATABASE_DAMAGED(ward) {
    await ward.use(async (one) => {
      for (let at = 0; at < 60; at += 1) await one.acquire(`t/x${at}`, DETACHED);
    });
    if (ward.kind === "sqlite") scribble(join(ward.home, "holdfast.db"));
    else ward.change("locks/t/tree.json", () => "{torn");
  },
  async SETTINGS_DISAGREE(ward) {
    await ward.use((one) => one.inspect("t"));
    writeFileSync(join(ward.root, "holdfast.config.json"), JSON.stringify({ levels: ["other"] }));
  },
  async GUARD_MISSING(ward) {
    await ward.use(async (one) => (await one.acquire("t")).release());
    rmSync(join(ward.home, ward.kind === "sqlite" ? "holdfast.db-turn" : "locks/t/guard"));
  },
  async RIGHTS_FOR_OTHERS(ward) {
    await ward.use((one) => one.acquire("t", DETACHED));
    chmodSync(join(ward.root, ".holdfast"), 0o755);
  },
  async GUARD_PERMISSIONS(ward) {
    await ward.use(async (one) => (await one.acquire("t")).release());
    const guard = join(ward.home, ward.kind === "sqlite" ? "holdfast.db-turn" : "locks/t/guard");
    rmSync(guard);
    mkdirSync(guard);
  },
  async TOKEN_ORPHAN(ward) {
    await ward.use((one) => one.inspect("t"));
    openTokenFiles(tokenFolder(ward.root, ward.env, ward.url), "agent:one").keep(
      ["t/x"],
      "hf_gone",
      new Date(Date.now() - 30 * 3_600_000),
    );
  },
  async PUBLISH_LEFT(ward) {
    await killedOnceItSpoke(PUBLISHER, ward.url, join(ward.root, "site"));
    await ward.use((one) => one.recover("site"));
  },
  async STAGE_LEFT(ward) {
    await killedOnceItSpoke(PUBLISHER, ward.url, join(ward.root, "site"), "cleaning");
    await ward.use((one) => one.recover("site"));
  },
  async SNAPSHOT_ORPHAN(ward) {
    await snapshotOf(ward);
    mkdirSync(join(ward.root, ".holdfast/snapshots/staging/20200101-000000000-00000000"));
  },
  async RESTORE_INTERRUPTED(ward) {
    await snapshotOf(ward);
    mkdirSync(join(ward.root, ".holdfast/snapshots/restores/main"));
  },
  async SNAPSHOT_DAMAGED(ward) {
    rmSync(join(ward.root, ".holdfast/snapshots/taken", await snapshotOf(ward), ".READY"));
  },
  async WORKTREE_FOLDER_GONE(ward) {
    await snapshotOf(ward);
    rmSync(join(ward.root, "main"), { recursive: true });
  },
  async BOARD_UNSETTLED(ward) {
    await boardOf(ward);
    await changeUnfinished(ward);
  },
  async BOARD_QUARANTINED(ward) {
    writeFileSync(join(await boardOf(ward), "issues/1.json.corrupt-2026-01-02T03-04-05-678Z"), "{torn");
  },
  async BOARD_UNREADABLE(ward) {
    writeFileSync(join(await boardOf(ward), "issues/1.json"), "{torn");
  },
  async BOARD_NEWER(ward) {
    const path = join(await boardOf(ward), "issues/1.json");
    writeFileSync(path, readFileSync(path, "utf8").replace('"schema_version": 1', '"schema_version": 9'));
  },
  async BOARD_INDEX_WRONG(ward) {
    const path = join(await boardOf(ward), "issues/1.json");
    writeFileSync(path, readFileSync(path, "utf8").replace("a thing to do", "changed by an editor"));
  },
  STORE_MISSING: async () => undefined,
};

async function snapshotOf(ward: Ward): Promise<string> {
  return ward.use(async (one) => {
    const worktrees = await openWorktrees(one, { root: ward.root, threads: 0 });
    await worktrees.trees.add("main");
    return (await worktrees.take("main")).snapshot_id;
  });
}

const REPAIRED = [
  ...["RECORD_UNREADABLE", "GRANT_RECOVERABLE", "PROOF_ORPHAN", "TOKEN_ORPHAN"],
  ...["PUBLISH_LEFT", "STAGE_LEFT", "SNAPSHOT_ORPHAN", "RESTORE_INTERRUPTED", "BOARD_UNSETTLED", "BOARD_INDEX_WRONG"],
];

// kills: doctor-touches (sqlite)
describe.each(KINDS)("the doctor on a %s store", (kind: Kind) => {
  it("finds nothing wrong with a store in use, and touches nothing", async () => {
    const ward = new Ward(kind);
    const one = await ward.open();
    await one.acquire("project:a/map:m");
    await one.acquire("issue:42", DETACHED);
    const before = ward.everything();
    expect((await ward.examine()).findings).toEqual([]);
    expect(ward.everything()).toEqual(before);
  });

  // kills: proof-not-begun
  it("STALE-2: leaves the proof alone that a process is just making: it is not dead, but has not begun", async () => {
    const ward = new Ward(kind);
    await ward.use((one) => one.acquire("t/x", DETACHED));
    mkdirSync(join(ward.home, "alive"), { recursive: true });
    const path = join(ward.home, "alive", "ab".repeat(12));
    writeFileSync(path, ""); // As it is before its process has locked it.
    expect((await ward.examine({ repair: true })).findings).toEqual([]);
    expect(existsSync(path)).toBe(true);
  });

  it.each(Object.keys(TROUBLES))(
    "STALE-7: finds %s; without --repair, or when that is not safe, nothing changes",
    async (code) => {
      const ward = new Ward(kind);
      await TROUBLES[code]?.(ward);
      const before = ward.everything();
      const { findings, repaired } = await ward.examine();
      expect(ward.everything()).toEqual(before);
      expect(repaired).toEqual([]);
      const found = findings.find((each) => each.code === code);
      expect(Object.keys(found ?? {})).toEqual(["category", "severity", "code", "message", "next", "auto_safe"]);
      expect(found?.auto_safe).toBe(REPAIRED.includes(code));
      expect(found?.next.length).toBeGreaterThan(0);
      if (REPAIRED.includes(code)) return;
      const again = await ward.examine({ repair: true });
      expect([again.repaired, ward.everything()]).toEqual([[], before]);
    },
  );

  it.each(REPAIRED)("STALE-7: --repair mends %s, says so, and finds nothing any more", async (code) => {
    const ward = new Ward(kind);
    await TROUBLES[code]?.(ward);
    const { findings, repaired } = await ward.examine({ repair: true });
    expect(repaired.filter(({ ok }) => !ok)).toEqual([]);
    expect(repaired.map((each) => each.code)).toContain(code);
    expect(findings.map((each) => each.code)).not.toContain(code);
    expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
    await ward.use(async (one) => (await one.acquire("t", { wait: 0 }).catch(ignoreConflict))?.release());
  });

  it("STALE-5 STALE-7: the end of an unreadable record is in the audit trail, and the fence has risen", async () => {
    const ward = new Ward(kind);
    await TROUBLES.RECORD_UNREADABLE?.(ward);
    const fence = await ward.use(async (one) => (await one.inspect("t")).fencing_token);
    await ward.examine({ repair: true });
    await ward.use(async (one) => {
      const [entry] = await one.audit.list({ event: "recovered" });
      expect(entry).toMatchObject({ resource: "t/x", owner: "user:doctor", details: { reason: "unreadable" } });
      expect((await one.inspect("t")).fencing_token).toBeGreaterThan(fence);
      expect(await one.audit.verify()).toMatchObject({ ok: true });
      expect((await one.acquire("t/x", { wait: 0 })).fencingToken).toBeGreaterThan(fence);
    });
  });

  // kills: doctor-evicts
  it("STALE-7: an unreadable record is left alone while somebody who may be its holder lives", async () => {
    const ward = new Ward(kind);
    const one = await ward.open();
    await one.acquire("t/x");
    ward.spoil("t/x", "unreadable");
    const { findings, repaired } = await ward.examine({ repair: true });
    expect(repaired).toEqual([]);
    expect(findings).toMatchObject([{ code: "RECORD_UNREADABLE", auto_safe: false }]);
    expect((await one.inspect("t/x")).state).toBe("held");
  });

  it("finds places in line that were left, and takes them away", async () => {
    const ward = new Ward(kind);
    const one = await ward.open();
    await one.acquire("t/x");
    const child = spawn(process.execPath, [HOLDER, ward.url, "t/x", join(ward.root, "elsewhere")], { stdio: "ignore" });
    const ended = once(child, "exit");
    await expect.poll(async () => (await one.inspect("t/x")).waiters.length, { timeout: 240_000 }).toBe(1);
    child.kill("SIGKILL");
    await ended;
    await expect.poll(() => ward.codes(), { timeout: 240_000, interval: 200 }).toContain("TICKET_STALE");
    const { repaired } = await ward.examine({ repair: true });
    expect(repaired.map(({ code, ok }) => [code, ok])).toContainEqual(["TICKET_STALE", true]);
    expect(await ward.codes()).not.toContain("TICKET_STALE");
  }, 300_000);
});

it("a file that a file manager left among the trees of a file store is no damage", async () => {
  const ward = new Ward("file");
  await ward.use((one) => one.acquire("t/x", DETACHED));
  writeFileSync(join(ward.home, "locks", ".DS_Store"), "how a window was shown");
  expect((await ward.examine()).findings).toEqual([]);
});

function ignoreConflict(error: unknown): null {
  if (isHoldfastError(error, "E_LOCK_CONFLICT")) return null;
  throw error;
}

describe.runIf(canMount()).each(KINDS)("a full disk, %s (needs the right to mount)", (kind) => {
  it("is found, and is none when there is room again", async () => {
    const ward = new Ward(kind, { disk: "4m" });
    await ward.use((one) => one.acquire("before", DETACHED));
    expect(await ward.codes()).toEqual([]);
    const large = join(ward.root, "large");
    expect(() => writeFileSync(large, Buffer.alloc(4 << 20))).toThrow("ENOSPC");
    await expect(ward.use((one) => one.acquire("after", DETACHED))).rejects.toMatchObject({ code: "E_IO" });
    expect(await ward.codes()).toEqual(["DISK_FULL"]);
    rmSync(large);
    await ward.use((one) => one.acquire("after", DETACHED));
    expect(await ward.codes()).toEqual([]);
  });
});

describe("findings", () => {
  it("each have their line in docs/runbook.md, with what they mean", () => {
    const lines = new Map(
      [...page("docs/runbook.md").matchAll(/^\| `([A-Z_]+)`\s*\| (\w+)\s*\| (.*?)\s*\| .*\|$/gm)].map(
        ([, code = "", severity, meaning]) => [code, [severity, meaning]] as const,
      ),
    );
    const table = Object.entries(FINDINGS).map(([code, { severity, meaning }]) => [code, [severity, meaning]] as const);
    expect([...lines]).toEqual(table);
  });

  it("come from checks with names of their own; one that fails is a finding and stops no other", async () => {
    expect(new Set(CHECKS.map(({ name }) => name)).size).toBe(CHECKS.length);
    const ward = new Ward("file");
    const fails = { name: "fails", look: () => Promise.reject(new Error("it cannot look")) };
    const { findings } = await ward.examine({ checks: [fails, ...CHECKS] });
    expect(findings.map(({ code, message }) => [code, message])).toContainEqual(["STORE_UNREADABLE", "it cannot look"]);
    expect(findings.map(({ code }) => code)).toContain("STORE_MISSING");
    expect(readdirSync(ward.root).sort()).toEqual([".holdfast", "holdfast.config.json"]);
  });
});
