import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBoard, openBoardReader } from "../../../src/board.js";
import { openDal } from "../../../src/dal.js";
import { openDeliverable } from "../../../src/deliverable.js";
import { openDocuments } from "../../../src/documents.js";
import { openFileLocker } from "../../../src/file-locker.js";
import { openHoldfast, retry, withWindow } from "../../../src/index.js";
import { openJobs } from "../../../src/jobs.js";
import { instrument } from "../../../src/otel.js";
import { Policies } from "../../../src/policy.js";
import { listManifests, publish, verifyManifests } from "../../../src/publish.js";
import { openWorktrees } from "../../../src/worktree.js";
import { codeOf } from "../../fixtures/error-code.fixture.js";

const dir = mkdtempSync(join(tmpdir(), "holdfast-options-"));
const scope = { ids: { project: "p" } };
type Opened = Awaited<ReturnType<typeof openAll>>;
let all: Opened;

async function openAll() {
  mkdirSync(join(dir, "folder"));
  const holdfast = await openHoldfast({ root: dir, owner: "user:u" });
  const held = await holdfast.acquire("held");
  const detached = await holdfast.acquire("detached", { detached: true, ttl: "1m" });
  const documents = openDocuments(join(dir, "documents"));
  const board = openBoard(holdfast, join(dir, ".holdfast", "board"));
  const issue = await board.add({ title: "one" });
  const jobs = openJobs(holdfast);
  const deliverable = openDeliverable(join(dir, "folder"));
  const lock = await deliverable.lock();
  return {
    holdfast,
    held,
    attached: await holdfast.reattach("detached", detached.token),
    documents,
    board,
    issue,
    reader: openBoardReader(join(dir, ".holdfast", "board")),
    jobs,
    worker: jobs.work(),
    deliverable,
    lock,
    dal: await openDal({ holdfast }),
    locker: await openFileLocker(join(dir, "locks")),
    policies: new Policies(),
    worktrees: await openWorktrees(holdfast, { root: dir }),
  };
}

beforeAll(async () => {
  all = await openAll();
});

afterAll(async () => {
  await all.worker.stop();
  await all.lock.unlock();
  await all.holdfast.close();
  rmSync(dir, { recursive: true });
});

/** Options that a caller in JavaScript passes, where no compiler looks at them. */
type Given = never;
const job = { project: "p" };
const work = () => undefined;

const CALLS: Readonly<Record<string, (odd: Given) => unknown>> = {
  openHoldfast: (odd) => openHoldfast(odd),
  "holdfast.acquire": (odd) => all.holdfast.acquire("a", odd),
  "holdfast.tryAcquire": (odd) => all.holdfast.tryAcquire("a", odd),
  "holdfast.withLock": (odd) => all.holdfast.withLock("a", odd, work),
  "holdfast.steal": (odd) => all.holdfast.steal("a", odd),
  "holdfast.break": (odd: object) => all.holdfast.break("a", { reason: "because", ...odd }),
  "holdfast.waits": (odd) => all.holdfast.waits(odd),
  "holdfast.untilFree": (odd) => all.holdfast.untilFree("a", odd),
  "holdfast.list": (odd) => all.holdfast.list(odd),
  "holdfast.watch": (odd) => all.holdfast.watch("a", odd).next(),
  "audit.list": (odd) => all.holdfast.audit.list(odd),
  "audit.recent": (odd) => all.holdfast.audit.recent(odd),
  "audit.verify": (odd) => all.holdfast.audit.verify(odd),
  "audit.follow": (odd) => all.holdfast.audit.follow(odd),
  "lease.acquire": (odd) => all.held.acquire("b", odd),
  "lease.upgrade": (odd) => all.held.upgrade(odd),
  "lease.transaction": (odd) => all.held.transaction(work, odd),
  "detached.upgrade": (odd) => all.attached.upgrade(odd),
  withWindow: (odd: object) => withWindow(all.held, { open: work, apply: work, close: work, ...odd }),
  retry: (odd) => retry(async () => 1, odd),
  "documents.log": (odd) => all.documents.log("log", odd),
  "documents.update": (odd) => all.documents.update("a", () => ({}), odd),
  "documents.watch": (odd) => all.documents.watch("a", odd),
  "board.add": (odd: object) => all.board.add({ title: "t", ...odd }),
  "board.update, the patch": (odd) => all.board.update(all.issue.id, odd),
  "board.update": (odd) => all.board.update(all.issue.id, {}, odd),
  "board.close": (odd) => all.board.close(all.issue.id, odd),
  "board.addDependency": (odd) => all.board.addDependency(all.issue.id, all.issue.id, odd),
  "board.removeDependency": (odd) => all.board.removeDependency(all.issue.id, "2", odd),
  "board.claim": (odd) => all.board.claim(all.issue.id, odd),
  "board.claimNext": (odd) => all.board.claimNext(odd),
  "board.next": (odd) => all.board.next(odd),
  "board.release": (odd) => all.board.release(all.issue.id, odd),
  "board.defineGate": (odd: object) => all.board.defineGate({ name: "g", ...odd }),
  "board.passGate": (odd) => all.board.passGate(all.issue.id, "g", odd),
  "board.failGate": (odd) => all.board.failGate(all.issue.id, "g", odd),
  "board.runGate": (odd) => all.board.runGate(all.issue.id, "g", odd),
  "board.list": (odd) => all.reader.list(odd),
  "board.wait": (odd) => all.reader.wait(all.issue.id, ["backlog", "ready"], odd),
  "board.waitForGate": (odd) => all.reader.waitForGate(all.issue.id, "g", odd),
  "board.events": (odd) => all.reader.events(odd),
  "board.watch": (odd) => all.reader.watch(odd),
  "jobs.define": (odd) => all.jobs.define("kind", odd, work),
  "jobs.enqueue": (odd: object) => all.jobs.enqueue("kind", null, { ...job, ...odd }),
  "jobs.add": (odd: object) => all.jobs.add("kind", null, { ...job, ...odd }),
  "jobs.enqueueIn": (odd: object) =>
    all.held.transaction((sql) => all.jobs.enqueueIn(sql, "kind", null, { ...job, ...odd })),
  "jobs.list": (odd) => all.jobs.list(odd),
  "jobs.lanes": (odd) => all.jobs.lanes(odd),
  "jobs.wait": (odd) => all.jobs.wait(1, odd),
  "jobs.setCaps": (odd) => all.jobs.setCaps(odd),
  "jobs.setProject": (odd) => all.jobs.setProject("p", odd),
  "jobs.setKeep": (odd) => all.jobs.setKeep(odd),
  "jobs.work": (odd) => all.jobs.work(odd),
  "worker.stop": (odd) => all.worker.stop(odd),
  openDal: (odd: object) => openDal({ holdfast: all.holdfast, ...odd }),
  "dal.read": (odd) => all.dal.read(all.held, "held", work, odd),
  "dal.query": (odd: object) => all.dal.query(all.held, "held", "SELECT 1", [], { limit: 1, ...odd }),
  "dal.pages": (odd: object) => all.dal.pages(all.held, "held", "SELECT 1 AS a", [], { by: "a", ...odd }).next(),
  openDeliverable: (odd) => openDeliverable(dir, odd),
  "deliverable.lock": (odd) => all.deliverable.lock(odd),
  "deliverable.renew": (odd) => all.deliverable.renew(odd),
  "deliverable.commit": (odd) => all.deliverable.commit(work, odd),
  "deliverable.unlock": (odd: object) => all.deliverable.unlock({ token: all.lock.token, ...odd }),
  "lock.unlock": (odd) => all.lock.unlock(odd),
  openFileLocker: (odd) => openFileLocker(dir, odd),
  "locker.lockExclusive": (odd) => all.locker.lockExclusive("a", odd),
  "locker.lockShared": (odd) => all.locker.lockShared("a", odd),
  instrument: (odd) => instrument(odd),
  "new Policies": (odd) => new Policies(odd),
  "policies.explain": (odd: object) => all.policies.explain("project.edit", { ...scope, ...odd }),
  "policies.approve": (odd) =>
    all.policies.approve(all.holdfast, "map.delete", { ids: { project: "p", map: "m" } }, odd),
  "policies.begin": (odd: object) => all.policies.begin(all.holdfast, "project.edit", { ...scope, ...odd }),
  "policies.perform": (odd: object) => all.policies.perform(all.holdfast, "project.edit", { ...scope, ...odd }, work),
  publish: (odd) => publish({ holdfast: all.holdfast, key: "out" }, join(dir, "out"), work, odd),
  "stage.write": (odd) =>
    publish({ holdfast: all.holdfast, key: "out" }, join(dir, "out"), (stage) => stage.write("a", "a", odd)),
  listManifests: (odd) => listManifests(all.holdfast, odd),
  verifyManifests: (odd) => verifyManifests(all.holdfast, odd),
  openWorktrees: (odd: object) => openWorktrees(all.holdfast, { root: dir, ...odd }),
  "worktrees.trees.add": (odd) => all.worktrees.trees.add("w", odd),
  "worktrees.trees.remove": (odd) => all.worktrees.trees.remove("w", odd),
  "worktrees.take": (odd) => all.worktrees.take("w", odd),
  "worktrees.list": (odd) => all.worktrees.list(odd),
  "worktrees.verify": (odd) => all.worktrees.verify(null, odd),
  "worktrees.restore.toNew": (odd) => all.worktrees.restore.toNew("s", "there", odd),
  "worktrees.restore.inPlace": (odd) => all.worktrees.restore.inPlace("s", "w", odd),
  "worktrees.restore.settle": (odd) => all.worktrees.restore.settle("w", odd),
  "worktrees.gc": (odd) => all.worktrees.gc(odd),
  "worktrees.check": (odd) => all.worktrees.check(odd),
};

// kills: options-unknown
describe("an unknown option", () => {
  it.each(Object.entries(CALLS))("is refused by %s, by its name", async (_, call) => {
    const refused = await Promise.resolve()
      .then(() => call({ zzTop: 1 } as Given))
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field: "zzTop" } });
  });

  it("is named with the known option that it resembles, and with all that the call has", async () => {
    const refused = all.holdfast.acquire("a", { waitt: 0 } as Given);
    await expect(refused).rejects.toMatchObject({
      message: "waitt: there is no such option; did you mean wait?",
      next: [
        "The options are wait, ttl, mode, signal, metadata, within, permits, detached, pid, presenting, keepToken.",
      ],
    });
    await expect(openHoldfast({ onwer: "agent:z" } as Given)).rejects.toThrow("did you mean owner?");
    await expect(retry(async () => 1, { max_delay: 1 } as Given)).rejects.toThrow("max_delay: there is no such option");
  });

  it("is not an internal one, which the message does not name", async () => {
    const refused = publish({ holdfast: all.holdfast, key: "out" }, join(dir, "out"), work, {
      beforeComit: 1,
    } as Given);
    await expect(refused).rejects.toThrow(/no such option$/);
  });

  it("is found by its own name, not by one that every object has", async () => {
    expect(await codeOf(all.holdfast.acquire("a", { toString: () => "" } as Given))).toBe("E_INVALID_ARGUMENT");
  });
});

// kills: options-text
it.each([
  ["text", "5s"],
  ["null", null],
  ["a list", []],
])("%s in the place of options is refused", async (_, given) => {
  await expect(all.holdfast.acquire("a", given as Given)).rejects.toMatchObject({ details: { field: "options" } });
});

/** The folder that each of them is given is, or lies in, one that is not there. */
const OPENERS: Readonly<Record<string, (missing: string) => unknown>> = {
  dir: (missing) => openDocuments(join(missing, "documents")),
  "dir of openFileLocker": (missing) => openFileLocker(join(missing, "locks")),
  "dir of openBoard": (missing) => openBoard(all.holdfast, join(missing, ".holdfast", "board")),
  "dir of openBoardReader": (missing) => openBoardReader(join(missing, "board")),
  "root of openWorktrees": (missing) => openWorktrees(all.holdfast, { root: missing }),
};

// kills: folder-missing
it.each(Object.entries(OPENERS))("a missing folder is refused as %s, and not made", async (argument, open) => {
  const missing = join(dir, "missing");
  const [field] = argument.split(" ");
  const refused = Promise.resolve().then(() => open(missing));
  await expect(refused).rejects.toMatchObject({ code: "E_INVALID_ARGUMENT", details: { field } });
  await expect(refused).rejects.toThrow(missing);
  expect(existsSync(missing)).toBe(false);
});

it("every type of options that the package exports has a list of its names", () => {
  const read = (path: string): string => readFileSync(path, "utf8");
  const modules = readdirSync("src").filter((name) => name.endsWith(".ts"));
  const exported = modules.flatMap((name) =>
    [...read(`src/${name}`).matchAll(/\b\w+(?:Options|Query)\b/g)].map(String),
  );
  const listed = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => [...read(join("src", path)).matchAll(/: OptionNames<(\w+)/g)].map(([, type]) => type));
  expect(exported.length).toBeGreaterThan(20);
  expect(exported.filter((type) => !listed.includes(type))).toEqual([]);
});
