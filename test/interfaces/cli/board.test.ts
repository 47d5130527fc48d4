/** The commands of the board, as agents use them. */
import { execFile, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ISSUES } from "../../../src/apps/cli/commands/issues.js";
import { listGroup } from "../../../src/platform/process/process-table.js";

const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const TIMEOUT = 300_000;
let base: string;
let root: string;

interface Answer {
  readonly exit: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever a command prints
  readonly data: any;
  // biome-ignore lint/suspicious/noExplicitAny: the same
  readonly error: any;
}

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "holdfast-board-cli-"));
  root = join(base, "place");
  mkdirSync(root);
  await holdfast("user:a", "init", "--root", root);
}, TIMEOUT);
afterAll(() => rmSync(base, { recursive: true, force: true }));

function environmentOf(owner: string): NodeJS.ProcessEnv {
  return { ...process.env, XDG_STATE_HOME: join(base, "state"), HOLDFAST_OWNER: owner, HOLDFAST_LEASE_TOKEN: "" };
}

function holdfast(owner: string, ...words: string[]): Promise<Answer> {
  const env = environmentOf(owner);
  const at = words.indexOf("--");
  const args = at < 0 ? [...words, "--json"] : [...words.slice(0, at), "--json", ...words.slice(at)];
  const child = ["init"].includes(words[0] ?? "") ? args : ["--root", root, ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...child], { env }, (failure, stdout) => {
      const answer = JSON.parse(stdout);
      resolve({ exit: failure === null ? 0 : Number(failure.code), data: answer.data, error: answer.error });
    });
  });
}

/** What a person reads. */
function said(owner: string, ...words: string[]): Promise<string> {
  return new Promise((resolve) => {
    const env = { ...environmentOf(owner), NO_COLOR: "1" };
    execFile(process.execPath, [MAIN, "--root", root, ...words], { env }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

it("CLI-2 claim, work, gate, close: the day of an agent", { timeout: TIMEOUT }, async () => {
  const ok = join(base, "ok");
  expect(
    (await holdfast("user:a", "gate", "add", "tests", "--timeout", "1m", "--", "test", "-f", ok)).data.gate,
  ).toMatchObject({
    kind: "automatic",
    timeout_s: 60,
  });
  await holdfast("user:a", "gate", "add", "review");
  await holdfast("user:a", "issue", "add", "first", "--priority", "high", "--gate", "tests", "--gate", "review");
  await holdfast("user:a", "issue", "add", "second", "--dep", "1");
  const next = await holdfast("agent:7", "issue", "next", "--claim");
  expect(next.data).toMatchObject({ issue: { id: "1", assignee: "agent:7" }, claim: { owner: "agent:7" } });
  expect(await holdfast("agent:8", "issue", "next", "--claim")).toMatchObject({
    exit: 89,
    error: { code: "E_NOT_FOUND" },
  });
  expect(await holdfast("agent:8", "issue", "update", "1", "--title", "x")).toMatchObject({
    exit: 75,
    error: { code: "E_LOCK_CONFLICT", details: { contention: { owner: "agent:7" } } },
  });
  expect(await holdfast("agent:7", "issue", "close", "1")).toMatchObject({
    exit: 88,
    error: {
      code: "E_GATE_BLOCKED",
      next: [`holdfast --root ${root} gate run 1 tests`, `holdfast --root ${root} issue gate pass 1 review`],
    },
  });
  expect(await holdfast("agent:7", "gate", "run", "1", "tests")).toMatchObject({
    exit: 88,
    error: { details: { run: { exit_code: 1 } } },
  });
  writeFileSync(ok, "");
  expect(await holdfast("agent:7", "gate", "run", "1", "tests")).toMatchObject({
    exit: 0,
    data: { run: { status: "passed" } },
  });
  await holdfast("agent:7", "issue", "gate", "pass", "1", "review", "--note", "fine");
  expect(await holdfast("user:a", "gate", "wait", "1", "review")).toMatchObject({
    exit: 0,
    data: { gate: { status: "passed" } },
  });
  expect((await holdfast("agent:7", "issue", "close", "1")).data.issue).toMatchObject({ state: "done", claim: null });
  expect(await holdfast("user:a", "issue", "wait", "1")).toMatchObject({ exit: 0, data: { issue: { state: "done" } } });
  expect((await holdfast("user:a", "lock", "list")).data.grants).toEqual([]);
});

it("BOARD-2 commands that put something into a context at once lose nothing", { timeout: TIMEOUT }, async () => {
  const names = ["a", "b", "c", "d"];
  await Promise.all(names.map((name) => holdfast("user:a", "issue", "update", "2", "--context", `${name}=1`)));
  const { context } = (await holdfast("user:a", "issue", "show", "2")).data.issue;
  expect(Object.keys(context).sort()).toEqual(names);
});

it("CLI-4 refusals have their own exit codes", { timeout: TIMEOUT }, async () => {
  expect(await holdfast("user:a", "issue", "dep", "add", "1", "2")).toMatchObject({
    exit: 88,
    error: { code: "E_CYCLE" },
  });
  const itself = await holdfast("user:a", "issue", "dep", "add", "1", "1");
  expect(itself).toMatchObject({ exit: 88, error: { next: [`holdfast --root ${root} issue list`] } });
  expect(await holdfast("user:a", "issue", "update", "2", "--title", "x", "--if-revision", "99")).toMatchObject({
    exit: 88,
    error: { code: "E_REVISION_CONFLICT" },
  });
  expect(await holdfast("user:a", "issue", "show", "99")).toMatchObject({ exit: 89 });
  expect(await holdfast("user:a", "issue", "wait", "2", "--wait", "50ms")).toMatchObject({
    exit: 75,
    error: {
      code: "E_LOCK_TIMEOUT",
      message: "issue 2 was not closed within 50 ms",
      next: [`holdfast --root ${root} issue wait 2 --wait 1h`, `holdfast --root ${root} issue show 2`],
    },
  });
  expect(await holdfast("user:a", "issue", "release", "2")).toMatchObject({
    exit: 81,
    error: { code: "E_LOCK_NOT_HELD", next: [`holdfast --root ${root} issue show 2`] },
  });
});

it("CLI-4 an update that changes nothing is refused and names the flags", { timeout: TIMEOUT }, async () => {
  const row = ISSUES.find(({ name }) => name === "issue update");
  const flags = Object.keys(row?.flags ?? {}).map((name) => `--${name}`);
  const changes = flags.filter((flag) => flag !== "--if-revision" && flag !== "--token");
  expect(await holdfast("user:a", "issue", "update", "2", "--if-revision", "5")).toMatchObject({
    exit: 64,
    error: { code: "E_INVALID_ARGUMENT", message: `change: say at least one of ${changes.join(", ")}` },
  });
});

it("CLI-2 lists are under their plural, with next for paging; import and export", { timeout: TIMEOUT }, async () => {
  const file = join(base, "tasks.json");
  copyFileSync(new URL("../../fixtures/board/samples/tasks.json", import.meta.url), file);
  expect((await holdfast("user:a", "board", "import", file)).data).toMatchObject({ issues: { length: 6 }, skipped: 0 });
  expect((await holdfast("user:a", "issue", "list", "--limit", "3")).data).toMatchObject({
    issues: { length: 3 },
    next: "3",
    total: 8,
  });
  expect((await holdfast("user:a", "issue", "list", "--state", "rejected", "--label", "none")).data.issues).toEqual([]);
  const exported = await holdfast("user:a", "board", "export");
  expect(exported.data.issues).toHaveLength(8);
  const kept = join(base, "board.json");
  for (const content of [exported.data, { ok: true, command: "board export", data: exported.data }]) {
    writeFileSync(kept, JSON.stringify(content));
    expect((await holdfast("user:a", "board", "import", kept)).data).toEqual({ issues: [], skipped: 8 });
  }
  expect((await holdfast("user:a", "gate", "list")).data.gates).toHaveLength(2);
});

it("CLI-5 a change that was made before is told as such", { timeout: TIMEOUT }, async () => {
  const { id: on } = (await holdfast("user:a", "issue", "add", "before")).data.issue;
  const { id } = (await holdfast("user:a", "issue", "add", "again", "--dep", on)).data.issue;
  const told = `issue ${id}: again (ready)\n`;
  const [added, updated] = await Promise.all([
    said("user:a", "issue", "dep", "add", id, on),
    said("user:a", "issue", "update", id, "--state", "ready"),
  ]);
  expect(added).toBe(`depends on ${on} already: ${told}`);
  expect(updated).toBe(`nothing to change: ${told}`);
  expect(await said("user:a", "issue", "dep", "rm", id, on)).toBe(`updated ${told}`);
  expect(await said("user:a", "issue", "dep", "rm", id, on)).toBe(`did not depend on ${on}: ${told}`);
  await holdfast("user:a", "issue", "close", id);
  expect(await said("user:a", "issue", "close", id)).toBe(`closed already: issue ${id}: again (done)\n`);
});

it("CLI-5 who changes or claims another's issue is told whose it is and what to type", {
  timeout: TIMEOUT,
}, async () => {
  const { id } = (await holdfast("agent:7", "issue", "add", "mine")).data.issue;
  await holdfast("agent:7", "issue", "claim", id);
  const [changed, claimed] = await Promise.all([
    said("user:a", "issue", "update", id, "--title", "x"),
    said("user:a", "issue", "claim", id),
  ]);
  for (const text of [changed, claimed]) expect(text).toContain(`holdfast: issue ${id} is claimed by agent:7\n`);
  expect(changed).toContain(`  holdfast --root ${root} lock wait issue:${id} --wait 2m\n`);
  expect(changed).toContain("If the claim is yours, say so with --owner or --token.");
  expect(claimed).toContain(`  holdfast --root ${root} issue claim ${id} --wait 2m\n`);
  await holdfast("agent:7", "issue", "close", id);
});

// kills: token-in-line
it("CLI-3 a claim that stands in line keeps its token, whatever else its owner does to the issue", {
  timeout: TIMEOUT,
}, async () => {
  const { id } = (await holdfast("agent:7", "issue", "add", "wanted")).data.issue;
  await holdfast("agent:7", "issue", "claim", id);
  const claiming = holdfast("user:a", "issue", "claim", id, "--wait", "2m");
  await expect
    .poll(async () => (await holdfast("user:a", "lock", "status", `issue:${id}`)).data.waiters)
    .toHaveLength(1);
  const { error } = await holdfast("user:a", "issue", "update", id, "--title", "x");
  expect(error).toMatchObject({ code: "E_LOCK_CONFLICT", message: `issue ${id} is claimed by agent:7` });
  await holdfast("agent:7", "issue", "release", id);
  expect((await claiming).exit).toBe(0);
  expect((await holdfast("user:a", "issue", "close", id)).data.issue.state).toBe("done");
});

it("CLI-5 none is nobody, and a release says whose the issue is", { timeout: TIMEOUT }, async () => {
  const { issue } = (await holdfast("user:a", "issue", "add", "free", "--assignee", "none", "--label", "new")).data;
  expect(issue.assignee).toBeNull();
  const listed = (await holdfast("user:a", "issue", "list", "--assignee", "none", "--label", "new")).data.issues;
  expect(listed).toMatchObject([{ id: issue.id }]);
  const release = () => holdfast("user:a", "issue", "release", issue.id);
  expect((await release()).error.message).toBe(`nobody has claimed issue ${issue.id}`);
  await holdfast("agent:7", "issue", "claim", issue.id);
  expect((await release()).error.message).toBe(
    `issue ${issue.id} is claimed by agent:7: only its claimer releases it, and no token was given`,
  );
  await holdfast("agent:7", "issue", "close", issue.id);
});

// kills: gate-killed
it("BOARD-4 a gate's command ends when its run is killed", { timeout: TIMEOUT }, async () => {
  const begun = join(base, "begun");
  await holdfast(
    "user:a",
    "gate",
    "add",
    "long",
    "--",
    "sh",
    "-c",
    `echo $$ > ${begun}.new; mv ${begun}.new ${begun}; sleep 600 & wait`,
  );
  const { issue } = (await holdfast("user:a", "issue", "add", "third", "--gate", "long")).data;
  const env = environmentOf("user:a");
  const run = spawn(process.execPath, [MAIN, "--root", root, "gate", "run", issue.id, "long"], {
    env,
    stdio: "ignore",
  });
  await expect.poll(() => existsSync(begun)).toBe(true);
  run.kill("SIGKILL");
  const group = Number(readFileSync(begun, "utf8"));
  await expect.poll(() => listGroup(group).some(({ isZombie }) => !isZombie)).toBe(false);
});
