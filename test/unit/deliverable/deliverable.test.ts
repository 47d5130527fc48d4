import {
  closeSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isHoldfastError } from "../../../src/base/errors.js";
import { openGuard } from "../../../src/files/guard.js";
import type { Contention } from "../../../src/lock/contention.js";
import { hashLeaseToken } from "../../../src/lock/lease-token.js";
import {
  deliverable,
  isLocked,
  movableClock,
  newFolder,
  others,
  readLock,
  readLog,
} from "../../fixtures/deliverable/deliverable.fixture.js";

const MINUTE = 60_000;

async function refusal(work: Promise<unknown>, code: string) {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!isHoldfastError(error)) throw new Error(`expected ${code}, not ${String(error)}`);
  expect(error.code).toBe(code);
  return error;
}

describe("a deliverable folder", () => {
  it("DELIV-1 DELIV-2: is locked while _LOCK.json is there, which has all the fields", async () => {
    const folder = newFolder();
    const lock = await deliverable(folder).lock();
    expect(readLock(folder)).toMatchObject({
      schema_version: "1.0",
      deliverable_id: "DEL-08-05",
      holder: "agent:one",
      lease_duration_s: 1800,
      pid: process.pid,
      fencing_token: lock.fencingToken,
    });
    const names = ["lock_id", "last_renewed_at", "host", "boot_id", "start_time", "nonce", "acquired"];
    expect(names.filter((name) => typeof readLock(folder)[name] !== "string")).toEqual([]);
    expect(readFileSync(join(folder, "_LOCK.json"), "utf8")).not.toContain(lock.token);
    await lock.unlock();
    expect(isLocked(folder)).toBe(false);
  });

  // kills: deliverable-own-hash
  it("shows in _LOCK.json another hash of the lease token than the one that stores keep", async () => {
    const folder = newFolder();
    const lock = await deliverable(folder).lock();
    expect(readFileSync(join(folder, "_LOCK.json"), "utf8")).not.toContain(hashLeaseToken(lock.token));
    await deliverable(folder).unlock({ token: lock.token });
  });

  it("DELIV-1 DELIV-4: nothing outside the folder is written, nothing else inside it is touched", async () => {
    const folder = newFolder();
    const before = others(dirname(folder));
    for (const options of [{}, { detached: true }, { pid: process.pid }]) {
      const lock = await deliverable(folder).lock(options);
      await lock.renew();
      await lock.unlock();
    }
    await deliverable(folder).unlock({ terminate: true });
    expect(others(dirname(folder))).toEqual(before);
    expect(readdirSync(dirname(folder))).toEqual([basename(folder)]);
    expect(readdirSync(folder).sort()).toEqual(["_LOCK.log.jsonl", "_STATUS.md", "drafts"]);
  });

  it("DELIV-2: fencing tokens grow over unlocking, moving and terminating, also when the clock goes back", async () => {
    let folder = newFolder();
    const clock = movableClock();
    const tokens: number[] = [];
    const use = async () => {
      const lock = await deliverable(folder, {}, clock).lock();
      tokens.push(lock.fencingToken);
      await lock.unlock();
    };
    await use();
    await use();
    renameSync(folder, `${folder}-archived`);
    folder = `${folder}-archived`;
    clock.pass(-24 * 60 * MINUTE);
    await use();
    await deliverable(folder, {}, clock).unlock({ terminate: true });
    await use();
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it("DELIV-3 LOCK-14: a second one is told who holds it, in the report an orchestrator reads", async () => {
    const folder = newFolder();
    await using lock = await deliverable(folder).lock({ ttl: "2m" });
    const error = await refusal(deliverable(folder, { holder: "agent:two" }).lock(), "E_LOCK_CONFLICT");
    const report = error.details.contention as Contention;
    expect(report).toMatchObject({ type: "LOCK_CONTENTION", deliverable_id: "DEL-08-05", holder: "agent:one" });
    expect(report.lease_remaining_s).toBeGreaterThan(100);
    expect(Date.parse(report.contention_time)).not.toBeNaN();
    expect(error.message).toContain(`process ${process.pid}`);
    expect(lock.record.holder).toBe("agent:one");
  });

  it("DELIV-3: a lease is at least a minute and at most a day, and nothing is written when it is not", async () => {
    const folder = newFolder();
    for (const ttl of ["59s", "25h", "soon"]) await refusal(deliverable(folder).lock({ ttl }), "E_INVALID_ARGUMENT");
    expect(existsSync(join(folder, ".holdfast"))).toBe(false);
    await refusal(deliverable(join(folder, "missing")).lock(), "E_NOT_FOUND");
    await refusal(deliverable(join(folder, "_STATUS.md")).lock(), "E_INVALID_ARGUMENT");
    expect(existsSync(join(folder, "missing"))).toBe(false);
  });

  it("DELIV-3: an expired lease is seen as such at once, taken over, and the recovery is in the log", async () => {
    const folder = newFolder();
    const clock = movableClock();
    const old = await deliverable(folder, {}, clock).lock({ ttl: "1m", detached: true });
    const two = deliverable(folder, { holder: "agent:two" }, clock);
    clock.pass(MINUTE - 500);
    await refusal(two.lock(), "E_LOCK_CONFLICT");
    clock.pass(1_000);
    expect((await two.status()).state).toBe("expired");
    await refusal(old.renew(), "E_LOCK_EXPIRED");
    const lock = await two.lock();
    expect(lock.fencingToken).toBeGreaterThan(old.fencingToken);
    expect(readLog(folder).map(({ action }) => action)).toEqual(["locked", "recovered", "locked"]);
    expect(readLog(folder)[1]).toMatchObject({
      agent: "agent:two",
      deliverable_id: "DEL-08-05",
      recovery_reason: "lease_expired",
      previous_holder: "agent:one",
      previous_acquired: old.record.acquired,
      fencing_token: lock.fencingToken,
    });
    await refusal(old.unlock(), "E_LOCK_NOT_HELD");
    expect(readLock(folder).lock_id).toBe(lock.record.lock_id);
  });

  it("DELIV-3: renewal counts from now, keeps lock id and fencing token, and is nobody else's", async () => {
    const folder = newFolder();
    const clock = movableClock();
    const lock = await deliverable(folder, {}, clock).lock({ ttl: "1m" });
    for (let minute = 0; minute < 3; minute += 1) {
      clock.pass(50_000);
      await lock.renew();
    }
    expect(readLock(folder)).toMatchObject({ lock_id: lock.record.lock_id, fencing_token: lock.fencingToken });
    expect(Date.parse(lock.record.last_renewed_at) - Date.parse(lock.record.acquired)).toBeGreaterThan(MINUTE);
    await refusal(deliverable(folder, { holder: "agent:two" }, clock).renew(), "E_LOCK_NOT_HELD");
    await refusal(deliverable(folder, {}, clock).unlock({ token: "hf_wrong" }), "E_LOCK_NOT_HELD");
    await lock.unlock();
    await lock.unlock();
    await refusal(deliverable(folder).unlock(), "E_LOCK_NOT_HELD");
  });

  it("DELIV-1: what a crash left linked is not written over: a reader of the old lock sees all of it", async () => {
    const folder = newFolder();
    const lock = await deliverable(folder).lock();
    linkSync(join(folder, "_LOCK.json"), join(folder, ".holdfast", "deliverable", "lock.new"));
    const reader = openSync(join(folder, "_LOCK.json"), "r");
    const seen = readLock(folder);
    await lock.renew();
    expect(JSON.parse(readFileSync(reader, "utf8"))).toEqual(seen);
    closeSync(reader);
    await lock.unlock();
  });

  it("FENCE-3: a commit runs only while the lock stands", async () => {
    const folder = newFolder();
    const clock = movableClock();
    const lock = await deliverable(folder, {}, clock).lock({ ttl: "1m", detached: true });
    expect(await lock.commit(() => 7)).toBe(7);
    await refusal(
      lock.commit(async () => undefined),
      "E_INVALID_ARGUMENT",
    );
    clock.pass(MINUTE);
    const write = () => writeFileSync(join(folder, "late.md"), "late");
    await refusal(lock.commit(write), "E_LOCK_EXPIRED");
    await deliverable(folder, { holder: "agent:two" }, clock).lock();
    await refusal(lock.commit(write), "E_LOCK_NOT_HELD");
    expect(existsSync(join(folder, "late.md"))).toBe(false);
  });

  it("DELIV-3 STALE-5: automatic and manual recovery leave the same line", async () => {
    const lines = [];
    for (const isManual of [true, false]) {
      const folder = newFolder();
      const clock = movableClock();
      await deliverable(folder, {}, clock).lock({ ttl: "1m", detached: true });
      clock.pass(2 * MINUTE);
      const two = deliverable(folder, { holder: "agent:two" }, clock);
      if (isManual) expect(await two.recover()).toMatchObject({ recovery_reason: "lease_expired" });
      else await two.lock({ detached: true });
      lines.push(readLog(folder).find(({ action }) => action === "recovered"));
    }
    const [manual, automatic] = lines;
    expect(Object.keys(manual ?? {})).toEqual(Object.keys(automatic ?? {}));
    expect(manual?.recovery_reason).toBe(automatic?.recovery_reason);
  });

  it("CLI-3: what a command leaves locked is found again by the same user and holder, mode 0600, and no other", async () => {
    const folder = newFolder();
    const { token } = await deliverable(folder).lock({ detached: true });
    const own = join(folder, ".holdfast", "deliverable");
    const kept = readdirSync(own).find((name) => name.startsWith("token-")) ?? "";
    expect(statSync(join(own, kept)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(own, kept), "utf8").trim()).toBe(token);
    await refusal(deliverable(folder, { holder: "agent:two" }).unlock(), "E_LOCK_NOT_HELD");
    await deliverable(folder).renew({ ttl: "5m" });
    await deliverable(folder).unlock();
    expect(readdirSync(own).filter((name) => name.startsWith("token-"))).toEqual([]);
  });
});

describe("a lock file that cannot be read", () => {
  it.each(["", "{", "[]", '{"holder":"a"}', '{"schema_version":"x","holder":"a"}'])(
    "DELIV-3: %j counts as locked, and only recover ends it",
    async (text) => {
      const folder = newFolder();
      await (await deliverable(folder).lock()).unlock();
      writeFileSync(join(folder, "_LOCK.json"), text);
      const one = deliverable(folder);
      expect((await refusal(one.lock(), "E_STORE_CORRUPT")).next[1]).toContain("deliverable recover");
      await refusal(one.unlock(), "E_STORE_CORRUPT");
      await refusal(one.unlock({ terminate: true }), "E_STORE_CORRUPT");
      expect((await one.status()).state).toBe("corrupt");
      expect(readFileSync(join(folder, "_LOCK.json"), "utf8")).toBe(text);
      const before = readLog(folder).length;
      expect(await one.recover()).toMatchObject({ recovery_reason: "corrupt", previous: null });
      expect(readLog(folder).slice(before)).toMatchObject([{ action: "recovered", recovery_reason: "corrupt" }]);
      await (await one.lock()).unlock();
    },
  );

  it("STALE-7: of a newer version is left alone, by recover too", async () => {
    const folder = newFolder();
    await deliverable(folder).lock({ detached: true });
    const text = JSON.stringify({ ...readLock(folder), schema_version: "2.0" });
    writeFileSync(join(folder, "_LOCK.json"), text);
    for (const work of [deliverable(folder).lock(), deliverable(folder).recover(), deliverable(folder).unlock()])
      await refusal(work, "E_FORMAT_UNSUPPORTED");
    expect(readFileSync(join(folder, "_LOCK.json"), "utf8")).toBe(text);
  });

  it("DELIV-3: is not taken from a process that still proves to be alive", async () => {
    const folder = newFolder();
    const lock = await deliverable(folder).lock();
    const text = readFileSync(join(folder, "_LOCK.json"), "utf8");
    writeFileSync(join(folder, "_LOCK.json"), "torn");
    await refusal(deliverable(folder, { holder: "agent:two" }).recover(), "E_LOCK_CONFLICT");
    writeFileSync(join(folder, "_LOCK.json"), text);
    await lock.unlock();
  });

  it("DELIV-2: with the six fields of another tool it is understood by its lease", async () => {
    const folder = newFolder();
    const clock = movableClock();
    const foreign = { holder: "TASK-7", acquired: new Date().toISOString(), lease_duration_s: 900, pid: 1 };
    writeFileSync(join(folder, "_LOCK.json"), JSON.stringify({ ...foreign, deliverable_id: "DEL-08-05" }));
    const one = deliverable(folder, {}, clock);
    const error = await refusal(one.lock(), "E_LOCK_CONFLICT");
    expect(error.details.contention).toMatchObject({ holder: "TASK-7", lease_remaining_s: expect.any(Number) });
    clock.pass(16 * MINUTE);
    expect((await one.lock()).recovered?.previous).toMatchObject({ holder: "TASK-7" });
  });
});

describe("copies and moves", () => {
  // kills: deliverable-copy
  it("DELIV-4: a copied lock is recognised; its lease decides, or recover", async () => {
    const folder = newFolder();
    const clock = movableClock();
    await using lock = await deliverable(folder, {}, clock).lock();
    const copy = `${folder}-copy`;
    cpSync(folder, copy, { recursive: true });
    const two = deliverable(copy, { holder: "agent:two" }, clock);
    expect(await two.status()).toMatchObject({ state: "held", copied: true, life: "unknown", recoverable: "corrupt" });
    await refusal(two.lock(), "E_LOCK_CONFLICT");
    expect(await two.recover()).toMatchObject({ recovery_reason: "corrupt" });
    expect(readLog(copy).at(-1)).toMatchObject({ action: "recovered", evidence: { copied: true } });
    await (await two.lock()).unlock();
    expect(await deliverable(folder, {}, clock).status()).toMatchObject({ state: "held", copied: false });

    const late = `${folder}-late`;
    cpSync(folder, late, { recursive: true });
    clock.pass(31 * MINUTE);
    expect((await deliverable(late, {}, clock).lock()).recovered).toMatchObject({ recovery_reason: "lease_expired" });
    clock.pass(-31 * MINUTE);
    await lock.renew();
  });

  it("DELIV-4: a moved folder stays locked by its holder, who finds it at its new place", async () => {
    const folder = newFolder();
    const lock = await deliverable(folder).lock();
    const moved = join(dirname(folder), "archive");
    renameSync(folder, moved);
    expect(await deliverable(moved).status()).toMatchObject({ state: "held", life: "alive", copied: false });
    await refusal(deliverable(moved, { holder: "agent:two" }).lock(), "E_LOCK_CONFLICT");
    await refusal(lock.renew(), "E_NOT_FOUND");
    expect(existsSync(folder)).toBe(false);
    await deliverable(moved).renew({ token: lock.token });
    await deliverable(moved).unlock({ token: lock.token });
  });

  // kills: deliverable-replaced
  it("DELIV-4: a lock of a folder that was put there while its guard was awaited is no copy, and nobody's to recover", async () => {
    const folder = newFolder();
    await (await deliverable(folder).lock()).unlock();
    const backup = `${folder}-backup`;
    cpSync(folder, backup, { recursive: true });
    const guard = openGuard(join(folder, ".holdfast/deliverable/guard"));
    expect(guard.tryEnter()).toBe(true);
    const locking = deliverable(folder).lock();
    renameSync(folder, `${folder}-old`);
    renameSync(backup, folder);
    guard.leave();
    guard.close();
    await using lock = await locking;
    expect(await deliverable(folder).status()).toMatchObject({ state: "held", life: "alive", copied: false });
    await refusal(deliverable(folder, { holder: "agent:two" }).recover(), "E_LOCK_CONFLICT");
    await lock.renew();
  });

  it("DELIV-4: terminate removes lock and .holdfast/ with a last line, and leaves a workspace there alone", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, ".holdfast"));
    writeFileSync(join(folder, ".holdfast", "holdfast.db"), "a workspace's");
    const lock = await deliverable(folder).lock();
    await refusal(deliverable(folder, { holder: "agent:two" }).unlock({ terminate: true }), "E_LOCK_NOT_HELD");
    await lock.unlock({ terminate: true });
    expect(isLocked(folder)).toBe(false);
    expect(readdirSync(join(folder, ".holdfast"))).toEqual(["holdfast.db"]);
    expect(readLog(folder).at(-1)).toMatchObject({ action: "terminated", previous_holder: "agent:one" });
  });
});
